/// `async` work that a dispatcher runs for actions, or from its registration on, and that may dispatch further ones.
///
///     dispatcher.register(
///       effect: Effect(Fetch.self) { fetch, context in
///         let page = try await load(fetch.url)
///         try await context.send(Fetched(page)).get()
///       })
///
/// A run begins when the action's dispatch has ended: its stores have, and its completion has run. It has a task of
/// its own. The dispatch does not wait for it; `DispatchHandle.settled()` does. See `docs/Effects.md`.
public struct Effect: Sendable {
  /// A description for messages.
  let name: String
  let callSite: CallSite
  /// The actions that it follows; nil for a long-lived one.
  let following: Following?
  var restart = EffectRestart.never
  let body: Body
  var onFailure: (@Sendable (any Error, EffectContext) -> Void)?

  /// Returns the pause before another attempt, if there is one.
  typealias Body = @Sendable (EffectRun) async throws -> Duration?

  /// The actions of a type that an effect follows, and how.
  struct Following: Sendable {
    let responds: @Sendable (any ActionType.Type) -> Bool
    let policy: EffectPolicy
    let key: (@Sendable (any ActionType) -> TypedKey)?
    let runsRegardless: Bool
    /// For a durable effect: what it does, and the place of its work.
    var durable: (effect: DurableEffect, outbox: Outbox)?

    /// The number of runs of one line that go on at once, at most.
    var bound: Int { durable?.effect.maxConcurrentRuns ?? (policy == .serial ? 1 : .max) }
  }

  /// Makes an effect on actions of a type, and of its subclasses if that is a class.
  ///
  /// - Parameters:
  ///   - type: The type of actions; stores need not respond to it.
  ///   - policy: The treatment of an action while an earlier run goes on.
  ///   - runsRegardless: Whether it also follows dispatches that failed, or were cancelled or vetoed.
  ///   - fileID: The file of its declaration, for messages.
  ///   - line: The line.
  ///   - body: Called in the run's task, with the action as dispatched, even if a hook gave the stores another one. Errors
  ///     that it throws are reported.
  public init<Action: ActionType>(
    _ type: Action.Type, policy: EffectPolicy = .concurrent, runsRegardless: Bool = false,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (_ action: Action, _ context: EffectContext) async throws -> Void
  ) {
    self.init(following: type, policy, key: nil, runsRegardless, CallSite(fileID, line), body)
  }

  /// Makes an effect whose policy holds among the actions with the same key.
  ///
  /// Keys compare by type and value. The closure `key` is called on the thread that ends the dispatch. Everything else
  /// is as with the initializer without a key.
  public init<Action: ActionType, Key: Hashable & Sendable>(
    _ type: Action.Type, policy: EffectPolicy, per key: @escaping @Sendable (Action) -> Key,
    runsRegardless: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (_ action: Action, _ context: EffectContext) async throws -> Void
  ) {
    self.init(
      following: type, policy, key: { TypedKey(key($0 as! Action)) }, runsRegardless,
      CallSite(fileID, line), body)
  }

  private init<Action: ActionType>(
    following type: Action.Type, _ policy: EffectPolicy,
    key: (@Sendable (any ActionType) -> TypedKey)?, _ runsRegardless: Bool, _ callSite: CallSite,
    _ body: @escaping @Sendable (Action, EffectContext) async throws -> Void
  ) {
    self.callSite = callSite
    name = "The effect on \(type) (\(callSite))"
    following = Following(
      responds: { $0 is Action.Type }, policy: policy, key: key, runsRegardless: runsRegardless)
    self.body = { run in
      try await body(run.action as! Action, EffectContext(run))
      return nil
    }
  }

  /// Makes the effect whose runs do the work of a durable one.
  init(_ durable: DurableEffect, in outbox: Outbox) {
    callSite = durable.callSite
    name = "The durable effect \"\(durable.name)\" (\(callSite))"
    following = Following(
      responds: durable.responds, policy: .concurrent, key: nil,
      // A dispatch that has timed out may have committed.
      runsRegardless: true, durable: (durable, outbox))
    body = { run in
      guard let work = run.work else { return nil }
      return await DurableAttempt(effect: durable, outbox: outbox, run: run, entry: work).make()
    }
  }

  private init(
    longLivedAt callSite: CallSite, _ restart: EffectRestart, _ body: @escaping Body
  ) {
    self.callSite = callSite
    name = "The long-lived effect (\(callSite))"
    (following, self.restart, self.body) = (nil, restart, body)
  }

  /// Makes a long-lived effect, which runs from its registration on: one that reads a socket, say.
  ///
  /// The effect is cancelled when it is unregistered, and when its dispatcher is closed, drained or shut down.
  ///
  /// - Parameters:
  ///   - restart: Whether the effect runs again after it has thrown. After it has returned, it does not.
  ///   - fileID: The file of its declaration, for messages.
  ///   - line: The line.
  ///   - body: Called in the run's task. Errors that it throws are reported, except a `CancellationError`.
  public static func longLived(
    restart: EffectRestart = .never, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (_ context: EffectContext) async throws -> Void
  ) -> Effect {
    Effect(longLivedAt: CallSite(fileID, line), restart) { run in
      try await body(EffectContext(run))
      return nil
    }
  }

  /// Returns this effect with a closure that is called with each error that it throws, beside the report.
  ///
  /// The closure is called in the run's task, before its end, so it may still dispatch. It is not called for a
  /// `CancellationError`.
  public func onFailure(
    _ body: @escaping @Sendable (_ error: any Error, _ context: EffectContext) -> Void
  ) -> Effect {
    var effect = self
    effect.onFailure = body
    return effect
  }
}
