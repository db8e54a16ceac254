/// The gate of a dispatch with rate limits or circuit breakers.
///
/// It comes after the gate of the other options, and asks the breakers last, since nothing waits after them. A dispatch
/// that waits for a token keeps its exclusion keys, and checks its conditions again once it has the token.
final class PacingGate: StartGate, @unchecked Sendable {
  // because it has only constants
  private let demands: [RateDemand]
  private let breakers: [BreakerTurn]
  private let dispatcher: Dispatcher

  init(
    _ demands: [RateDemand], _ breakers: [CircuitBreaker], after next: StartGate?,
    of dispatcher: Dispatcher
  ) {
    self.demands = demands
    self.breakers = breakers.map(BreakerTurn.init)
    self.dispatcher = dispatcher
    super.init(then: next)
  }

  override func letsPass(_ dispatch: Dispatch) -> Bool {
    if let next, !next.letsPass(dispatch) { return false }
    do throws(DispatchError) {
      for demand in demands where try !demand.enter(dispatch, of: dispatcher) {
        if dispatch.isSynchronous, ThreadState.current.isTaskThread {
          throw .wouldBlockTasks(
            dispatch.callSite, until: "it may begin by the rate limit \(demand.description)")
        }
        return false
      }
      for breaker in breakers { try breaker.enter(dispatch, of: dispatcher) }
    } catch {
      for breaker in breakers { breaker.ended(nil) }
      dispatch.drop(with: error)
      return false
    }
    return true
  }

  override var holdsBack: Bool {
    next != nil || demands.contains { $0.limit.overflow == .wait }
  }

  override func passed(_ dispatch: Dispatch) {
    for demand in demands { demand.begin(dispatch) }
    super.passed(dispatch)
  }

  override func leave(_ dispatch: Dispatch) {
    for demand in demands { demand.leave(dispatch) }
    super.leave(dispatch)
  }

  override func ended(_ dispatch: Dispatch, _ result: DispatchResult) {
    let (wasCancelled, hasTimedOut) = (dispatch.wasCancelled, dispatch.refusal?.code == .timedOut)
    for breaker in breakers {
      breaker.ended(result, wasCancelled: wasCancelled, hasTimedOut: hasTimedOut)
    }
    // The completion that follows may dispatch the next one.
    if !result.hasStarted { for demand in demands { demand.leave(dispatch) } }
    super.ended(dispatch, result)
  }

  override func obstacles(of dispatch: Dispatch, followingLines: Bool) -> [GateObstacle] {
    // Without the dispatch itself, which may hold its keys while it waits for a token.
    super.obstacles(of: dispatch, followingLines: followingLines)
      .filter { $0.dispatch !== dispatch }
  }

  override func opensWithTime(for dispatch: Dispatch) -> Bool {
    demands.contains { $0.isAwaited(by: dispatch) } || super.opensWithTime(for: dispatch)
  }

  override func description(of dispatch: Dispatch, naming name: (Dispatch) -> String) -> String {
    if let demand = demands.first(where: { $0.isAwaited(by: dispatch) }) {
      return "a token of the rate limit \(demand.description)"
    }
    return next?.description(of: dispatch, naming: name) ?? "its turn"
  }
}
