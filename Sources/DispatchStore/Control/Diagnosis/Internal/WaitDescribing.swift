/// An object that knows why a dispatch, or a call that is not a dispatch yet, does not go on.
///
/// Limits, gates and delays explain their waits to a diagnosis by it. The object is added to the dispatcher's
/// `PendingWaits` when the wait begins, and removed when the wait ends.
protocol WaitDescribing: AnyObject, Sendable {
  /// The waiting dispatch or call.
  var subject: WaitSubject { get }

  /// Returns the present reason for the wait; called with no lock held, on any thread.
  func describeWait() -> WaitDescription
}

/// The subject of a wait.
enum WaitSubject {
  /// A dispatch, at its place or before it.
  case dispatch(Dispatch)
  /// A call that has not become a dispatch.
  case call(PendingCall)
}

/// A call of `dispatch` or `send` that waits before it is accepted.
struct PendingCall {
  let callSite: CallSite
  /// The dispatch that goes on only after the call, if there is one.
  var caller: Dispatch?
  /// The start of the wait, in nanoseconds of the dispatcher's clock.
  let began: Int64
}

/// The reason for a wait.
struct WaitDescription {
  /// The reason, as text that follows "waits for ".
  let text: String
  /// Identifies a queue of waits that end first in, first out: all but the oldest wait for the oldest.
  var queue: ObjectIdentifier?
  /// Returns the awaited dispatches in flight; called with no lock held, for the oldest wait of a queue only.
  var awaited: () -> [Dispatch] = { [] }
}

/// The waits of a dispatcher's dispatches and calls that can explain themselves.
final class PendingWaits: DispatcherAttachment {
  private let waits = Locked<[ObjectIdentifier: any WaitDescribing]>([:])

  func add(_ wait: any WaitDescribing) {
    waits.withLock { $0[ObjectIdentifier(wait)] = wait }
  }

  func remove(_ wait: any WaitDescribing) {
    let removed = waits.withLock { $0.removeValue(forKey: ObjectIdentifier(wait)) }
    withExtendedLifetime(removed) {}
  }

  var all: [any WaitDescribing] { waits.withLock { Array($0.values) } }
}

extension Dispatcher {
  /// The waits that can explain themselves; the list is made if there is none.
  var pendingWaits: PendingWaits { attachment(orAdd: PendingWaits()) }
}
