extension Dispatcher {
  /// Registers an effect, until it is unregistered; a long-lived one begins to run.
  ///
  /// It follows what is dispatched from now on. Effects of one action begin in order of registration. Dispatches of
  /// other action types pay nothing for it. May be called from any thread; an effect may be registered several times.
  ///
  /// - Returns: The registration: to unregister, cancel and restart it, or to scope it to an owner by a token.
  @discardableResult
  public func register(effect: DispatchStore::Effect) -> DispatchStore::EffectRegistration {
    let registered = RegisteredEffect(effect, with: self)
    register(registered)
    registered.start()
    return EffectRegistration(registered)
  }

  /// Unregisters an effect, as `EffectRegistration.unregister()`.
  ///
  /// - Returns: Whether it was registered with this dispatcher.
  @discardableResult
  public func unregister(effect registration: DispatchStore::EffectRegistration) -> Bool {
    registration.registered.reference.dispatcher === self && registration.unregister()
  }
}

/// An effect that was registered with a dispatcher; releasing this changes nothing.
public struct EffectRegistration: Sendable {
  let registered: RegisteredEffect

  init(_ registered: RegisteredEffect) {
    self.registered = registered
  }

  /// How many runs go on; those that wait for their turn are not among them.
  public var runCount: Int { registered.runCount }

  /// Cancels the runs that go on and those that wait; the effect stays registered.
  ///
  /// A run sees it as its task's cancellation, and what it has dispatched is cancelled. A long-lived effect does not
  /// run until it is restarted.
  public func cancel() {
    registered.cancel()
  }

  /// Lets a long-lived effect run again: at once, or once its present run, which is cancelled, has ended.
  ///
  /// Its restarts after failures are counted anew. Without effect for others, and once it is unregistered or the
  /// dispatcher is closed.
  public func restart() {
    registered.restart()
  }

  /// Unregisters the effect, and cancels its runs.
  ///
  /// Once this has returned, no run begins.
  ///
  /// - Returns: Whether it was registered.
  @discardableResult
  public func unregister() -> Bool {
    registered.unregister()
  }

  /// A token that unregisters the effect when it is released.
  public func token() -> EffectToken {
    EffectToken(self)
  }
}

/// Scopes an effect to its owner: unregisters it, and cancels its runs, when the token is released.
public final class EffectToken: Sendable {
  /// The registration.
  public let registration: EffectRegistration

  init(_ registration: EffectRegistration) {
    self.registration = registration
  }

  deinit {
    registration.unregister()
  }

  /// Unregisters the effect now.
  public func cancel() {
    registration.unregister()
  }
}
