/// Work on the outside world that is done although the process may die in the middle: a charge, a mail.
///
///     dispatcher.register(
///       effect: DurableEffect(
///         "charge", on: OrderPlaced.self, attempts: nil, attemptTimeout: .seconds(30)
///       ) { order, context in
///         let receipt = try await bank.charge(order.price, key: context.key)
///         return OrderPaid(id: order.id, receipt: receipt)
///       })
///
/// The dispatch that it follows is atomic, and its commit has a row that says what is to be done. The run begins once
/// that is saved. The action that it returns removes the row in its own commit. A run that throws is run again after a
/// pause, and one that the process has not survived after the restart: `Dispatcher.resumeWork()`. Each run of the same
/// work has the same `EffectContext.key`, by which the outside world can tell a repeat.
///
/// Promised: the state changes exactly once, if the returned action only reduces. The outside world sees at least one
/// run, always with the same key. Without persistence, the work lasts as long as the process.
public struct DurableEffect: Sendable {
  let name: String
  let actionType: any ActionType.Type
  let responds: @Sendable (any ActionType.Type) -> Bool
  let callSite: CallSite
  let attemptCount: Int
  let attemptTimeout: Duration?
  let maxConcurrentRuns: Int
  let backoff: RetryBackoff
  let body: Body
  /// Nil if the work is done again after a restart.
  let reconcile: (@Sendable (any ActionType, EffectContext) async throws -> EffectReconciliation)?

  typealias Body = @Sendable (any ActionType, EffectContext) async throws -> (any ActionType)?

  /// Makes a durable effect on actions of a type, and of its subclasses if that is a class.
  ///
  /// - Parameters:
  ///   - name: The name under which its work is saved, for good.
  ///   - type: The type of actions, which the persistence's `ActionCoder` must know.
  ///   - attempts: The number of attempts before the work becomes a dead letter; nil for as many as it takes. They count
  ///     over restarts, and so do those in which a restarted process dies.
  ///   - attemptTimeout: The longest time of an attempt, by the dispatcher's clock; nil for no limit. When it is over, the
  ///     attempt's task is cancelled. If its body then throws, the attempt has failed with `DispatchError.Code.timedOut`.
  ///   - backoff: The pauses between them, by the dispatcher's clock.
  ///   - maxConcurrentRuns: The number of pieces of work that are attempted at once; others wait, first come, first
  ///     served. Work that pauses does not count.
  ///   - onRestart: The treatment of work that was under way when the process died.
  ///   - fileID: The file of its declaration, for messages.
  ///   - line: The line.
  ///   - body: Does the work in a task of its own, and returns the action that says so; nil if there is none. It gets the
  ///     action as dispatched, even if a hook gave the stores another one.
  /// - Precondition: `attempts`, `attemptTimeout` and `maxConcurrentRuns` are positive.
  public init<Action: ActionType>(
    _ name: String, on type: Action.Type, attempts: Int? = 10, attemptTimeout: Duration? = nil,
    backoff: RetryBackoff = .exponential(from: .seconds(1), upTo: .seconds(300)).withFullJitter(),
    maxConcurrentRuns: Int = 64, onRestart: EffectRecovery<Action> = .runAgain,
    fileID: StaticString = #fileID,
    line: UInt = #line,
    _ body:
      @escaping @Sendable (_ action: Action, _ context: EffectContext) async throws ->
      (any ActionType)?
  ) {
    let attemptCount = attempts ?? .max
    for (count, unit) in [(attemptCount, "attempts"), (maxConcurrentRuns, "concurrent runs")]
    where count < 1 {
      stopProgram(
        "The durable effect \"\(name)\" has \(count) \(unit), so it would never run. Take at least 1."
      )
    }
    if let attemptTimeout, attemptTimeout <= .zero {
      stopProgram(
        """
        The durable effect "\(name)" gives each attempt \(attemptTimeout), so none could end. Take a time above 0, or \
        nil for no limit.
        """)
    }
    (self.name, actionType, self.attemptCount, self.backoff) = (name, type, attemptCount, backoff)
    self.attemptTimeout = attemptTimeout
    self.maxConcurrentRuns = maxConcurrentRuns
    callSite = CallSite(fileID, line)
    responds = { $0 is Action.Type }
    self.body = { try await body($0 as! Action, $1) }
    switch onRestart {
    case .runAgain: reconcile = nil
    case .reconcile(let reconcile):
      self.reconcile = { try await reconcile($0 as! Action, $1) }
    }
  }
}

/// The treatment of a durable effect's work that the process has not survived.
public enum EffectRecovery<Action: ActionType>: Sendable {
  /// Does it again, with the same key.
  case runAgain
  /// Asks first whether it was done, if the outside world can't take a key.
  ///
  /// Asks, too, if the work is a dead letter of an earlier process that is run again.
  case reconcile(
    @Sendable (_ action: Action, _ context: EffectContext) async throws -> EffectReconciliation)
}

/// Whether the work of a durable effect was done before the process died.
public enum EffectReconciliation: Sendable {
  /// The work was not done: the effect runs.
  case runAgain
  /// The work was done; the action, if any, says so to the stores.
  case done((any ActionType)?)
}

extension Dispatcher {
  /// Registers a durable effect until it is unregistered.
  ///
  /// From now on, actions of its type are atomic: their stores must only reduce. Work of an earlier process begins
  /// with `resumeWork()`, and work that an effect of its name has left in this process begins now.
  ///
  /// - Precondition: No other durable effect of the dispatcher has the name. If the dispatcher has a persistence, its
  ///   `ActionCoder` knows the type of actions.
  @discardableResult
  public func register(effect: DurableEffect) -> EffectRegistration {
    let outbox = outbox
    if let obstacle = outbox.keeper?.obstacle(effect.actionType) {
      stopProgram("The durable effect \"\(effect.name)\" (\(effect.callSite)): \(obstacle)")
    }
    let registered = RegisteredEffect(Effect(effect, in: outbox), with: self)
    guard outbox.add(registered, named: effect.name) else {
      stopProgram(
        """
        A durable effect named "\(effect.name)" is registered already (\(effect.callSite)). Give each its own name, \
        since its work is saved under it.
        """)
    }
    register(registered)
    outbox.beginLeft(of: [effect.name], by: self)
    return EffectRegistration(registered: registered)
  }
}
