//! A classified pool, whose classes are databases of one server that share a target; and a keyed pool,
//! whose keys are databases with limits of their own.

use std::time::Duration;

use sfo_pool::{
    ClassifiedWorkerPool, ClassifiedWorkerPoolConfig, KeyedWorkerPool, KeyedWorkerPoolConfig,
    PoolErrorCode, PoolOptions,
};

use crate::server::Server;
use crate::{HUNG, LONG, Outcome, SHORT, expect_error, wait_until};

fn users() -> String {
    "users".to_owned()
}

fn orders() -> String {
    "orders".to_owned()
}

/// Who makes way, and when.
pub async fn create_first() -> Outcome {
    let server = Server::start().await?;
    for (create_first, left) in [(false, 1), (true, 2)] {
        let config = ClassifiedWorkerPoolConfig::default().with_max_count(Some(2));
        let options = PoolOptions::default().with_create_first(create_first);
        let pool = ClassifiedWorkerPool::new_with_options(server.connector(), config, options);
        assert_eq!(pool.prewarm(2).await?, 2);

        server.delay_logins(HUNG);
        let who = format!("create_first {create_first}: while logins hang, a request for orders");
        let result = pool.get_classified_worker_timeout(orders(), SHORT).await;
        expect_error(&who, result, PoolErrorCode::Timeout);
        assert_eq!(pool.status().idle, left);
        report!("of 2 idle connections to users, {left} are left");

        server.delay_logins(Duration::ZERO);
        let mut connection = pool.get_classified_worker(orders()).await?;
        connection.prove().await?;
        assert_eq!(pool.status().total, 2);
        let mut connection =
            pool.try_get_classified_worker(users())?.ok_or("one at least is left")?;
        connection.prove().await?;
        report!("then there is one to each");
    }
    Ok(())
}

pub async fn overshoot() -> Outcome {
    let server = Server::start().await?;
    for cap in [Some(0), Some(1), None] {
        let config = ClassifiedWorkerPoolConfig::default().with_max_count(Some(1));
        let options = PoolOptions::default().with_max_overshoot_count(cap);
        let pool = ClassifiedWorkerPool::new_with_options(server.connector(), config, options);
        let mut held = vec![pool.get_classified_worker(users()).await?];
        for (count, database) in (1..).zip(["orders", "archive"]) {
            if cap.is_none_or(|cap| count <= cap) {
                let request = pool.get_classified_worker_timeout(database.to_owned(), LONG);
                let mut connection = request.await?;
                connection.prove().await?;
                report!("overshoot of at most {cap:?}: {database} is served above the target");
                held.push(connection);
            } else {
                let request = pool.get_classified_worker_timeout(database.to_owned(), SHORT);
                let who = format!("overshoot of at most {cap:?}: {database}");
                expect_error(&who, request.await, PoolErrorCode::Timeout);
            }
        }
        drop(held);
        assert_eq!(pool.status().total, 1);
        // Whatever is idle makes way.
        let mut connection = pool.get_classified_worker("archive".to_owned()).await?;
        connection.prove().await?;
    }
    report!("each time it fell back to the target of 1");
    Ok(())
}

pub async fn keys() -> Outcome {
    let server = Server::start().await?;
    let config = KeyedWorkerPoolConfig::default().with_max_count_per_key(Some(2));
    let options = PoolOptions::default().with_max_waiting_count(Some(0));
    let pool = KeyedWorkerPool::new_with_options(server.connector(), config, options);

    assert_eq!(pool.prewarm(users(), 2).await?, 2);
    assert_eq!((pool.status_of(users()).idle, pool.status_of(orders()).total), (2, 0));
    report!("users is warm: {:?}", pool.status_of(users()));

    let held = [pool.get_worker(users()).await?, pool.get_worker(users()).await?];
    assert_eq!(server.tally().logins, 2);
    expect_error("a third for users", pool.get_worker(users()).await, PoolErrorCode::Full);
    let mut connection = pool.get_worker(orders()).await?;
    connection.prove().await?;
    report!("nobody has to wait for orders: {:?}", pool.status_of(orders()));
    assert!(pool.try_get_worker(orders())?.is_none());

    pool.set_max_count(Some(3))?;
    let mut third = pool.get_worker_timeout(users(), LONG).await?;
    third.prove().await?;
    report!("with a limit of 3 for each key there is a third for users");
    assert_eq!((pool.status().total, pool.status_of(users()).total), (4, 3));

    drop((held, connection, third));
    pool.close().await;
    wait_until("all are closed", || server.tally().sessions == 0).await;
    expect_error("one that comes later", pool.get_worker(users()).await, PoolErrorCode::Closed);
    Ok(())
}
