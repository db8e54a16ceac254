import DispatchStore
import DispatchStoreTesting

/// Notes when each action begins.
final class BeginWatch: Middleware {
  let clock: VirtualClock
  private let all = Shared([(number: Int, time: Duration)]())

  init(_ clock: VirtualClock) {
    self.clock = clock
  }

  var begun: [(number: Int, time: Duration)] { all.now }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    all.append((number: (action as? any Numbered)?.number ?? 0, time: clock.now.offset))
    return .pass
  }
}
