extension Dispatcher {
  /// Registers an effect until it is unregistered; a long-lived one begins to run.
  ///
  /// The effect follows later dispatches. Effects of one action begin in order of registration. Dispatches of other
  /// action types pay nothing for it. May be called from any thread; an effect may be registered several times.
  ///
  /// - Returns: The registration: to unregister, cancel and restart it, or to scope it to an owner by a token.
  @discardableResult
  public func register(effect: Effect) -> EffectRegistration {
    let registered = RegisteredEffect(effect, with: self)
    register(registered)
    registered.start()
    return EffectRegistration(registered: registered)
  }

  /// The effects with runs that go on, in words; none while another thread changes the registry.
  package var runningEffects: [String] { effects { _ in true } }

  /// The effects of `runningEffects` whose runs are to end: they are not long-lived.
  package var endingEffects: [String] { effects { !$0.isLongLived } }

  private func effects(where fits: (any DispatchFollower) -> Bool) -> [String] {
    registry.withLockIfFree(\.followers)?.filter(fits).compactMap(\.progress) ?? []
  }

  /// The effects of `runningEffects`, also while another thread changes the registry.
  var progressOfEffects: [String] { registry.withLock(\.followers).compactMap(\.progress) }

  /// The effects with runs that are to end and sleep on a virtual clock, in words; none unless a test follows them.
  package var sleepingEffects: [String] { registry.withLock(\.followers).compactMap(\.sleep) }

  /// Takes the failures of effects so far that only a warning has told of, in words; none unless a test follows them.
  package func takeFailuresOfEffects() -> [String] { continuations?.takeFailures() ?? [] }
}

/// The registration of an effect with a dispatcher; releasing it changes nothing.
public struct EffectRegistration: Sendable {
  let registered: RegisteredEffect

  /// The number of runs that go on, without those that wait for their turn.
  package var runCount: Int { registered.runCount }

  /// Cancels the runs that go on and those that wait; the effect stays registered.
  ///
  /// A run sees its task cancelled, and its dispatches are cancelled. A long-lived effect does not run until it is
  /// restarted.
  public func cancel() {
    registered.cancel()
  }

  /// Runs a long-lived effect again: at once, or once its present run, which is cancelled, has ended.
  ///
  /// Restarts after failures are counted anew. Has no effect for other effects, or once it is unregistered or the
  /// dispatcher is closed.
  public func restart() {
    registered.restart()
  }

  /// Unregisters the effect, and cancels its runs; once this has returned, no run begins.
  ///
  /// The body of a run that was being started on another thread may still begin, with its task cancelled.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  public func unregister() -> Bool {
    registered.unregister()
  }

  /// Returns a token that unregisters the effect when the token is released.
  public func token() -> ObserverToken {
    ObserverToken { unregister() }
  }
}
