//! Request rate and pauses of a provider.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use qm_lanes::IgnorePoison;
use qm_ports::metadata::ProviderError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// Concurrent calls of one provider.
const AT_ONCE: usize = 4;
/// Calls that may follow each other without delay.
const BURST: f64 = 40.0;
/// Calls per second after those.
const RATE: f64 = 4.0;
/// Longest wait of a call for its turn.
const TURN: Duration = Duration::from_secs(30);
/// Consecutive failures before a pause.
const PATIENCE: u32 = 3;
/// First pause; it doubles.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(10);
/// Pause after a refused key: another key ends it at once.
const REFUSED: Duration = Duration::from_mins(5);
/// Pause when the provider asks for one without a time.
const THROTTLED: Duration = Duration::from_secs(30);
/// Longest pause that a provider may ask for.
const LONGEST_WISH: Duration = Duration::from_hours(24);

struct Pace {
    /// Fingerprint of the configuration to which the failures and pauses belong.
    fingerprint: u64,
    places: Arc<Semaphore>,
    tokens: f64,
    filled: Instant,
    failures: u32,
    until: Option<(Instant, String)>,
}

/// Paces of all providers.
#[derive(Default)]
pub struct Paces(Mutex<HashMap<String, Pace>>);

impl Paces {
    fn with<T>(&self, provider: &str, fingerprint: u64, work: impl FnOnce(&mut Pace) -> T) -> T {
        let mut all = self.0.lock().ignore_poison();
        let fresh = || Pace {
            fingerprint,
            places: Arc::new(Semaphore::new(AT_ONCE)),
            tokens: BURST,
            filled: Instant::now(),
            failures: 0,
            until: None,
        };
        let pace = all.entry(provider.to_owned()).or_insert_with(fresh);
        if pace.fingerprint != fingerprint {
            // The rate limit belongs to the site, the pauses to the key.
            (pace.fingerprint, pace.failures, pace.until) = (fingerprint, 0, None);
        }
        work(pace)
    }

    /// Reason of a present pause.
    fn left_alone(&self, provider: &str, fingerprint: u64) -> Option<String> {
        self.with(provider, fingerprint, |pace| {
            let (until, why) = pace.until.as_ref()?;
            let left = until.checked_duration_since(Instant::now())?;
            (!left.is_zero()).then(|| format!("it is left alone for {} s more: {why}", left.as_secs() + 1))
        })
    }

    /// Waits for a turn; the error is the reason for none.
    pub async fn turn(&self, provider: &str, fingerprint: u64) -> Result<OwnedSemaphorePermit, String> {
        let busy = || "too many questions wait for it".to_owned();
        let deadline = Instant::now() + TURN;
        if let Some(why) = self.left_alone(provider, fingerprint) {
            return Err(why);
        }
        let places = self.with(provider, fingerprint, |pace| pace.places.clone());
        let place = tokio::time::timeout_at(deadline, places.acquire_owned()).await;
        let place = place.map_err(|_| busy())?.map_err(|_| busy())?;
        let wait = self.with(provider, fingerprint, |pace| {
            let now = Instant::now();
            let since = now.duration_since(pace.filled).as_secs_f64();
            pace.filled = now;
            pace.tokens = (pace.tokens + since * RATE).min(BURST) - 1.0;
            Duration::from_secs_f64((-pace.tokens / RATE).max(0.0))
        });
        if Instant::now() + wait > deadline {
            self.with(provider, fingerprint, |pace| pace.tokens += 1.0);
            return Err(busy());
        }
        tokio::time::sleep(wait).await;
        // An earlier call may have caused a pause.
        match self.left_alone(provider, fingerprint) {
            Some(why) => Err(why),
            None => Ok(place),
        }
    }

    pub fn answered(&self, provider: &str, fingerprint: u64) {
        self.with(provider, fingerprint, |pace| {
            (pace.failures, pace.until) = (0, None);
        });
    }

    /// Records a failed call.
    pub fn failed(&self, provider: &str, fingerprint: u64, error: &ProviderError) {
        self.with(provider, fingerprint, |pace| {
            let pause = match error {
                // It has answered: about the title, or a missing feature.
                ProviderError::NotFound(_) | ProviderError::Unsupported(_) => return,
                // Faults of the host, not of the site.
                ProviderError::Busy | ProviderError::Missing(_) | ProviderError::InvalidConfig(_) => return,
                ProviderError::Throttled { seconds, .. } => {
                    let wish = seconds.map_or(THROTTLED, |seconds| Duration::from_secs(seconds.into()));
                    Some(wish.min(LONGEST_WISH))
                }
                ProviderError::Auth(_) | ProviderError::Denied(_) => Some(REFUSED),
                _ => {
                    pace.failures = pace.failures.saturating_add(1);
                    let over = pace.failures.checked_sub(PATIENCE);
                    over.map(|over| (PAUSE * 2_u32.pow(over.min(10))).min(LONGEST_PAUSE))
                }
            };
            if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
                let why: String = error.to_string().chars().take(200).collect();
                pace.until = Some((Instant::now() + pause, why));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: u64 = 7;

    fn throttled(seconds: Option<u32>) -> ProviderError {
        ProviderError::Throttled {
            seconds,
            message: "HTTP 429".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_to_be_left_alone_is() {
        let paces = Paces::default();
        assert!(paces.turn("a", SEEN).await.is_ok());
        paces.failed("a", SEEN, &throttled(Some(17)));
        let why = paces.turn("a", SEEN).await.unwrap_err();
        assert!(why.contains("17 s") || why.contains("18 s"), "{why}");
        assert!(paces.turn("b", SEEN).await.is_ok(), "another one is asked");
        tokio::time::advance(Duration::from_secs(17)).await;
        assert!(paces.turn("a", SEEN).await.is_ok());
        paces.failed("a", SEEN, &throttled(Some(u32::MAX)));
        tokio::time::advance(LONGEST_WISH).await;
        assert!(paces.turn("a", SEEN).await.is_ok(), "for a day at most");
        paces.failed("a", SEEN, &ProviderError::Auth("refused".to_owned()));
        assert!(paces.turn("a", SEEN).await.is_err());
        assert!(
            paces.turn("a", SEEN + 1).await.is_ok(),
            "with another key it is asked at once"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_fails_again_and_again_is_left_alone_longer() {
        let paces = Paces::default();
        let broken = ProviderError::Unreachable("nobody listens".to_owned());
        for _ in 0..2 {
            paces.failed("a", SEEN, &broken);
            assert!(paces.turn("a", SEEN).await.is_ok());
        }
        for pause in [5, 10, 20] {
            paces.failed("a", SEEN, &broken);
            tokio::time::advance(Duration::from_millis(pause * 1000 - 100)).await;
            assert!(paces.turn("a", SEEN).await.is_err(), "{pause}");
            tokio::time::advance(Duration::from_millis(100)).await;
            assert!(paces.turn("a", SEEN).await.is_ok(), "{pause}");
        }
        paces.answered("a", SEEN);
        for unknown in [ProviderError::NotFound(String::new()), ProviderError::Busy] {
            for _ in 0..9 {
                paces.failed("a", SEEN, &unknown);
            }
        }
        assert!(
            paces.turn("a", SEEN).await.is_ok(),
            "what is unknown is no failure"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_budget_is_kept() {
        let paces = Paces::default();
        let began = Instant::now();
        for _ in 0..BURST as u32 {
            drop(paces.turn("a", SEEN).await.unwrap());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        for _ in 0..8 {
            drop(paces.turn("a", SEEN).await.unwrap());
        }
        let took = began.elapsed();
        assert!((1900..2100).contains(&took.as_millis()), "{took:?}");
        let held: Vec<_> = futures_util::future::join_all((0..AT_ONCE).map(|_| paces.turn("b", SEEN))).await;
        assert!(held.iter().all(Result::is_ok));
        let why = paces.turn("b", SEEN).await.unwrap_err();
        assert!(why.contains("too many"), "{why}");
    }
}
