use std::task::Poll;

use sfo_pool::PoolResult;

use super::Call;

/// As many calls as this, each of which waits, the oldest first.
pub fn wait<T>(count: usize, get: impl Fn() -> Call<T>) -> Vec<Call<T>> {
    let mut calls: Vec<_> = (0..count).map(|_| get()).collect();
    calls.iter_mut().for_each(Call::expect_pending);
    calls
}

/// Which of the calls are woken.
pub fn woken<T>(calls: &[Call<T>]) -> Vec<usize> {
    (0..calls.len()).filter(|&index| calls[index].is_woken()).collect()
}

/// Polls each call that is woken, and removes those that this serves. Returns how many it polled,
/// and what they were served.
pub fn poll_woken<G>(calls: &mut Vec<Call<PoolResult<G>>>) -> (usize, Vec<G>) {
    let mut polls = 0;
    let mut guards = Vec::new();
    calls.retain_mut(|call| {
        if !call.is_woken() {
            return true;
        }
        polls += 1;
        let Poll::Ready(result) = call.poll() else {
            return true;
        };
        guards.push(result.expect("nothing fails"));
        false
    });
    (polls, guards)
}
