/// What operators do with all three pools.
///
/// `$setup` is the hidden beginning of each example, up to a `pool`; `$get` gets one of its workers.
macro_rules! impl_operations {
    ([$($bounds:tt)*] $pool:ty, $worker:ty, $setup:expr, $get:literal) => {
        /// # Operating
        impl<$($bounds)*> $pool {
            /// What there is in the pool, all of it at one moment.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            #[doc = concat!("let worker = ", $get, ".await?;")]
            /// let status = pool.status();
            /// assert_eq!((status.total, status.borrowed, status.idle), (1, 1, 0));
            /// # drop(worker);
            /// # Ok(())
            /// # }
            /// ```
            pub fn status(&self) -> $crate::PoolStatus {
                self.handle.status()
            }

            /// What has happened in the pool so far: how requests and workers have ended, and how long
            /// requests waited. It is counted where it happens, at no cost for a request that is served
            /// by an idle worker.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            #[doc = concat!("drop(", $get, ".await?);")]
            #[doc = concat!("drop(", $get, ".await?);")]
            /// let statistics = pool.statistics();
            /// assert_eq!((statistics.started, statistics.created), (2, 1));
            /// # Ok(())
            /// # }
            /// ```
            pub fn statistics(&self) -> $crate::PoolStatistics {
                self.handle.statistics()
            }

            /// Who holds a worker, the longest first. Empty unless one of the options
            /// [`with_outstanding`](crate::PoolOptions::with_outstanding) and
            /// [`with_observer`](crate::PoolOptions::with_observer) is set.
            ///
            /// # Example
            ///
            /// See [`PoolOutstanding`](crate::PoolOutstanding).
            pub fn outstanding(&self) -> Vec<$crate::PoolOutstanding> {
                self.handle.outstanding()
            }

            /// Changes the limit on workers (in a keyed pool that of each key, in a classified pool the
            /// target) while the pool is in use; `None`: no limit.
            ///
            /// When it grows, waiting requests are served at once. When it shrinks, the least recently
            /// used idle workers that are too many go at once, and of those that are out as many as are
            /// too many go as they come back, even if somebody waits. The call itself waits for nothing
            /// but the destructors of idle workers. A closed pool stays closed.
            ///
            /// # Errors
            ///
            /// [`InvalidConfig`](crate::PoolErrorCode::InvalidConfig) for `Some(0)`, or if the pool was
            /// made with a setting that makes no sense. Nothing changes then.
            ///
            /// # Panics
            ///
            /// If a worker's destructor panics, the others are destroyed first, and then the panic goes on.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            /// pool.set_max_count(Some(100))?;
            /// assert_eq!(pool.status().max_count, Some(100));
            /// assert!(pool.set_max_count(Some(0)).is_err());
            /// # Ok(())
            /// # }
            /// ```
            pub fn set_max_count(&self, max_count: Option<u16>) -> $crate::PoolResult<()> {
                self.handle.resize(max_count)
            }

            /// Destroys the idle workers that the predicate denies, and returns how many stayed and how
            /// many went.
            ///
            /// The predicate runs outside the pool's lock, and may call the pool. While it is asked about
            /// some workers they are borrowed: a request that comes meanwhile does not find them. What
            /// stays has its old place among the idle, unless somebody waits for it.
            ///
            /// # Panics
            ///
            /// If the predicate panics, the worker that it was asked about is destroyed, nobody else is
            /// asked, and the panic goes on. The same goes for a destructor, when the others are done.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            #[doc = concat!("drop(", $get, ".await?);")]
            /// let retained = pool.retain(|_worker| false);
            /// assert_eq!((retained.kept, retained.removed), (0, 1));
            /// # Ok(())
            /// # }
            /// ```
            pub fn retain(&self, is_kept: impl FnMut(&$worker) -> bool) -> $crate::PoolRetained {
                self.handle.retain(is_kept)
            }

            /// Gives up every worker from before this call, while requests go on: idle ones go at once,
            /// borrowed ones as they come back, and what comes of a creation under way is destroyed and
            /// created anew for the same request. Use it when credentials were rotated or a server has
            /// failed over.
            ///
            /// [`clear_all_worker`](Self::clear_all_worker) does more: it ends requests as well, and waits
            /// for every worker.
            ///
            /// # Panics
            ///
            /// If a worker's destructor panics, the others are destroyed first, and then the panic goes on.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            #[doc = concat!("let old = ", $get, ".await?;")]
            /// pool.invalidate_all();
            #[doc = concat!("let new = ", $get, ".await?;")]
            /// drop(old); // it is destroyed
            /// assert_eq!(pool.status().total, 1);
            /// # drop(new);
            /// # Ok(())
            /// # }
            /// ```
            pub fn invalidate_all(&self) {
                self.handle.invalidate();
            }

            /// Closes the pool for good, and returns when the last worker's destructor has.
            ///
            /// From the first poll on, requests that wait and those that come get
            /// [`Closed`](crate::PoolErrorCode::Closed), idle workers go at once and borrowed ones as they
            /// come back. It may be called several times, and beside
            /// [`clear_all_worker`](Self::clear_all_worker).
            ///
            /// # Cancel safety
            ///
            /// If the future is dropped after its first poll, the pool stays closed all the same.
            ///
            /// # Deadlock
            ///
            /// The call waits for every guard that is out, as `clear_all_worker` does; see
            /// [`close_within`](Self::close_within).
            ///
            /// # Panics
            ///
            /// If the destructor of an idle worker panics, the others are destroyed first, and then the
            /// panic goes on. The pool is closed.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            /// pool.close().await;
            #[doc = concat!("let error = ", $get, ".await.unwrap_err();")]
            /// assert_eq!(error.code(), sfo_pool::PoolErrorCode::Closed);
            /// # Ok(())
            /// # }
            /// ```
            pub async fn close(&self) {
                self.handle.close().await;
            }

            /// Closes the pool for good, waits for its workers for so long, and returns how many have not
            /// come back by then; 0: all have.
            ///
            /// The timer is tokio's: unless everything is back at once, it needs a runtime with its time
            /// enabled. For the rest see [`close`](Self::close).
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            #[doc = concat!("let forgotten = ", $get, ".await?;")]
            /// let missing = pool.close_within(std::time::Duration::from_millis(10)).await;
            /// assert_eq!(missing, 1);
            /// # drop(forgotten);
            /// # Ok(())
            /// # }
            /// ```
            pub async fn close_within(&self, limit: std::time::Duration) -> usize {
                self.handle.close_within(limit).await
            }

            /// Whether [`close`](Self::close) was called.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            /// assert!(!pool.is_closed());
            /// pool.close().await;
            /// assert!(pool.is_closed());
            /// # Ok(())
            /// # }
            /// ```
            pub fn is_closed(&self) -> bool {
                self.handle.is_closed()
            }

            /// Returns when the pool has been closed, though borrowed workers may still be out.
            ///
            /// # Cancel safety
            ///
            /// It may be dropped and called again at any time.
            ///
            /// # Example
            ///
            /// ```
            #[doc = $setup]
            /// let is_closed = async { tokio::join!(pool.closed(), pool.close()) };
            /// is_closed.await;
            /// # Ok(())
            /// # }
            /// ```
            pub async fn closed(&self) {
                self.handle.closed().await;
            }
        }
    };
}

pub(crate) use impl_operations;
