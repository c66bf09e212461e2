/// What the guards of all three pools do.
macro_rules! impl_guard {
    ([$($bounds:tt)*] $guard:ty, $name:literal, $worker:ty) => {
        impl<$($bounds)*> std::ops::Deref for $guard {
            type Target = $worker;

            fn deref(&self) -> &Self::Target {
                &self.loan.worker
            }
        }

        impl<$($bounds)*> std::ops::DerefMut for $guard {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.loan.worker
            }
        }

        impl<$($bounds)*> std::fmt::Debug for $guard {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use impl_guard;
