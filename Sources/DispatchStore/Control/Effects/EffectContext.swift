/// The context of an effect's run, by which it dispatches until it has ended.
///
/// Actions sent through it are children of the dispatch that the effect follows, and are cancelled with the run. One
/// that is sent after the end is not dispatched, and reported. The effect may also use stores and dispatchers that it
/// has captured, with the same parent.
public struct EffectContext: Sendable {
  let run: EffectRun
  private let durableKey: String?
  /// The number of the attempt, from 1.
  ///
  /// It counts the restarts of a long-lived effect after failures. For a durable effect, it counts on after a restart
  /// of the process.
  public let attempt: Int

  init(_ run: EffectRun, key: String? = nil, attempt: Int? = nil) {
    (self.run, durableKey, self.attempt) = (run, key, attempt ?? run.attemptCount)
  }

  /// The idempotency key of the work: for a durable effect, the same in all of its attempts, also after a restart.
  ///
  /// Pass it to the outside world, which can then tell a repeat. No other work has it, in any process.
  public var key: String {
    durableKey ?? "\(run.id.epoch)-\(run.id.number)"
  }

  /// The dispatcher, which the run keeps alive.
  public var dispatcher: Dispatcher { run.dispatcher }
  /// The dispatch that the effect follows; for a long-lived effect, one of its own.
  public var dispatchID: DispatchID { run.dispatchID }
  /// The result of the followed dispatch; nil for a long-lived effect.
  public var result: DispatchResult? { run.result }
  /// Whether the run has neither ended nor been cancelled.
  package var isActive: Bool { run.isActive }

  /// Dispatches an action in the calling task, and returns when it has ended, as `Dispatcher.send` does.
  @discardableResult
  public nonisolated(nonsending) func send<Action: ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Dispatcher.SendMode = .async,
    options: DispatchOptions = [], fileID: StaticString = #fileID, line: UInt = #line
  ) async -> ReplyResult<Action.Reply> {
    let callSite = CallSite(fileID, line)
    if let refused = refusal(of: action, nil, callSite) {
      return ReplyResult(await refused.result)
    }
    return ReplyResult(
      await dispatcher.send(action, to: storeIdentifier, mode.mode, options, nil, callSite))
  }

  /// Dispatches an action, as `Dispatcher.dispatch` does; the run does not wait for it.
  ///
  /// `DispatchHandle.settled()` of the followed action waits for it.
  @discardableResult
  public func dispatch<Action: ActionType>(
    _ action: Action, to storeIdentifier: String? = nil, mode: Dispatcher.Mode = .async,
    options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> DispatchHandle {
    let completion = completion.map(Completion.withResult)
    let callSite = CallSite(fileID, line)
    if let refused = refusal(of: action, completion, callSite) { return refused }
    return dispatcher.dispatch(action, to: storeIdentifier, mode, options, completion, callSite)
  }

  /// Refuses an action if the run has ended; nil if it has not.
  private func refusal(
    of action: any ActionType, _ completion: Completion?, _ callSite: CallSite
  ) -> DispatchHandle? {
    guard run.hasEnded else { return nil }
    let message = """
      \(run.registered.effect.name) sent an action of type \(type(of: action)) (\(callSite)) after its run had ended. \
      It was not dispatched. Await in the effect what is to be sent, or send it through the dispatcher.
      """
    dispatcher.report(.effectEnded, message)
    return dispatcher.makeFailed(
      with: DispatchError(code: .effectEnded, message: message, callSites: [callSite]), completion,
      callSite)
  }
}
