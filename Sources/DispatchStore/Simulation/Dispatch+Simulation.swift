extension Dispatcher {
  /// The simulated world that runs the dispatcher's work, if any.
  package var world: (any SimulatedWorld)? { pool.world }

  /// Reports a dispatch that comes from outside the simulated world of its dispatcher.
  func checkWorld(on thread: ThreadState, at callSite: @autoclosure () -> CallSite) {
    #if SIMULATION
      guard hasSimulated else { return }
      let (mine, present) = (pool.world, thread.simulated?.world)
      if mine !== present { noteOther(world: mine, present, at: callSite()) }
    #endif
  }

  private func noteOther(
    world: (any SimulatedWorld)?, _ present: (any SimulatedWorld)?, at callSite: CallSite
  ) {
    world?.wasEntered(
      """
      The dispatch at \(callSite) comes from outside the simulation: from an unstructured task, \
      the main actor or another thread. Use child tasks, `async let` or a task group.
      """)
    present?.wasEntered(
      """
      The dispatch at \(callSite) goes to dispatcher "\(name)", which is not of the simulation. Make it \
      with simulation.makeDispatcher(name:).
      """)
  }

  /// Notes the beginning of a dispatch in the world.
  func note(_ dispatch: Dispatch, _ mode: @autoclosure () -> Mode, on thread: ThreadState) {
    #if SIMULATION
      if let world = pool.world { note(dispatch, mode(), in: world, on: thread) }
    #endif
  }

  private func note(
    _ dispatch: Dispatch, _ mode: Mode, in world: any SimulatedWorld, on thread: ThreadState
  ) {
    guard thread.simulated?.world === world else { return }
    world.began(dispatch.id, "dispatch \(dispatch.id) (\(dispatch.callSite), \(mode))")
    yieldPoint(.dispatch, on: thread, "\(dispatch.id) \(mode)")
  }
}

extension Dispatch {
  /// Notes the end of the dispatch in the world.
  func noteEnd() {
    #if SIMULATION
      guard hasSimulated else { return }
      ThreadState.current.simulated?.world.ended(id)
    #endif
  }
}
