/// What the guards of all three pools do.
///
/// `$setup` is the hidden beginning of each example, up to a `pool`; `$get` gets one of its workers.
macro_rules! impl_guard {
    ([$($bounds:tt)*] $guard:ty, $name:literal, $worker:ty, $setup:expr, $get:literal) => {
        impl<$($bounds)*> $guard {
            /// Takes the worker out of the pool for good, and frees its slot: the pool may create another
            /// one at once.
            ///
            /// It is called on the type, so that it does not hide a method of the worker's.
            ///
            /// # Panics
            ///
            /// If a destructor of the user's panics that this sets off, the worker is dropped, and then
            /// the panic goes on.
            ///
            /// # Example
            ///
            /// ```
            #[doc = concat!("# use sfo_pool::", $name, ";")]
            #[doc = $setup]
            #[doc = concat!("let guard = ", $get, ".await?;")]
            #[doc = concat!("let worker = ", $name, "::detach(guard);")]
            /// assert_eq!(pool.status().total, 0);
            /// # drop(worker);
            /// # Ok(())
            /// # }
            /// ```
            pub fn detach(guard: Self) -> $worker {
                guard.loan.detach()
            }

            /// Destroys the worker, without asking whether it is well, and frees its slot.
            ///
            /// # Panics
            ///
            /// If the worker's destructor panics, its slot is freed first, and then the panic goes on.
            ///
            /// # Example
            ///
            /// ```
            #[doc = concat!("# use sfo_pool::", $name, ";")]
            #[doc = $setup]
            #[doc = concat!("let guard = ", $get, ".await?;")]
            #[doc = concat!($name, "::discard(guard);")]
            /// assert_eq!(pool.status().total, 0);
            /// # Ok(())
            /// # }
            /// ```
            pub fn discard(guard: Self) {
                guard.loan.discard();
            }

            /// Says who holds the worker, for `outstanding()` of the pool; without the option
            /// [`with_outstanding`](crate::PoolOptions::with_outstanding) or an observer it does nothing.
            /// It is forgotten when the worker comes back.
            ///
            /// # Example
            ///
            /// See [`PoolOutstanding`](crate::PoolOutstanding).
            pub fn set_label(guard: &Self, label: impl Into<std::borrow::Cow<'static, str>>) {
                guard.loan.set_label(label.into());
            }

            /// What the pool knows of the worker; `None` unless one of the options
            /// [`with_worker_info`](crate::PoolOptions::with_worker_info),
            /// [`with_max_lifetime`](crate::PoolOptions::with_max_lifetime),
            /// [`with_max_use_count`](crate::PoolOptions::with_max_use_count),
            /// [`with_observer`](crate::PoolOptions::with_observer) and
            /// [`with_outstanding`](crate::PoolOptions::with_outstanding) is set.
            ///
            /// # Example
            ///
            /// See [`PoolWorkerInfo`](crate::PoolWorkerInfo).
            pub fn info(guard: &Self) -> Option<$crate::PoolWorkerInfo> {
                guard.loan.record().map($crate::PoolWorkerInfo::new)
            }
        }

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
