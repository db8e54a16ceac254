public import Observation

/// Makes a store trackable by `withObservationTracking`, `Observations` and SwiftUI views.
///
/// Tracked code that reads the store by `model`, `version` or `withModel` is notified of the store's next change. No
/// change after the read is missed, even one during the set-up of the tracking. You need to declare nothing. Every
/// read, also by a child, counts as a read of the whole store. To be notified of a part only, observe that part.
///
///     withObservationTracking {
///       show(cart.model.total)
///     } onChange: {
///       …
///     }
///
/// `onChange` is called after the commit, so it can read the new model. Like an inline observer, it is called on the
/// thread that committed or by the store's notifier, in the delivery turn. So a store makes one call at a time, and
/// never under a lock. For a change during the set-up of the tracking, it is called on a thread of the library.
///
/// - A tracked read takes the store's lock, also if its reads are published. So it waits for a reduction in progress.
/// - If `shouldNotifyObservers(for:in:)` is false, `onChange` is not called.
/// - A read may race with a commit. Then a call may follow for a change that the read has already seen.
/// - The toolchain may notify a tracking twice if several of its stores change at the same time on different threads.
///   It may also do so if two changes come during its set-up.
///
/// An untracked read costs a few nanoseconds for the check, and a tracked one some microseconds. A store is observed
/// only from a tracked read to the next change. If tracked code never reads a store, it has no registrar, and its
/// commits cost nothing more.
extension Store: Observable {}
