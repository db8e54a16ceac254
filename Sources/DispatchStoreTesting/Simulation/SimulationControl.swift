public import DispatchStore

extension Dispatcher {
  /// The simulation that it is of; nil for one whose work runs on the system's threads.
  public var simulation: SimulationControl? {
    (world as? World).map(SimulationControl.init)
  }
}

/// What a scenario may ask of the simulation that it runs in: its clock, its chance, and faults.
///
/// To be used on the simulation's own threads. All that it decides follows from the seed.
public struct SimulationControl: Sendable {
  fileprivate let world: World

  /// The simulation's clock: time passes when nothing else can go on.
  public var clock: VirtualClock { world.clock }

  /// Makes another dispatcher of the same simulation.
  public func makeDispatcher(name: String) -> Dispatcher {
    world.makeDispatcher(name)
  }

  /// A number below `count`.
  ///
  /// - Precondition: `count` is one or more.
  public func draw(below count: Int) -> Int {
    precondition(count > 0, "There is no number below \(count) to be drawn.")
    return world.draw(count)
  }

  /// Runs a closure once, at some time, on a thread of its own.
  ///
  /// For faults from outside: cancel a handle, unregister a store, let go of the last reference to it,
  /// suspend the queue. The run does not end before that.
  public func atSomeTime(_ body: @escaping @Sendable () -> Void) {
    world.run(.job, body)
  }

  /// Cancels a dispatch at some time, perhaps after its end.
  public func cancelAtSomeTime(_ handle: DispatchHandle) {
    atSomeTime { handle.cancel() }
  }

  /// Unregisters a store at some time.
  public func unregisterAtSomeTime(_ store: AnyStore, from dispatcher: Dispatcher) {
    atSomeTime { dispatcher.unregister(store: store) }
  }

  /// Lets go of what a box holds at some time, such as the last reference to a store.
  public func releaseAtSomeTime<Object: AnyObject & Sendable>(
    _ reference: SimulatedReference<Object>
  ) {
    atSomeTime { reference.release() }
  }

  /// Fails one time in so many, to be called where an operation may fail.
  ///
  /// - Throws: `InjectedFault`.
  public func failSometimes(oneIn count: Int) throws(InjectedFault) {
    if draw(below: count) == 0 { throw InjectedFault() }
  }

  /// Sleeps on the simulation's clock for a time up to the given one.
  public func delay(upTo longest: Duration) async throws {
    try await clock.sleep(for: longest * draw(below: 1_000) / 1_000)
  }
}

/// A fault that a simulation has put in an operation.
public struct InjectedFault: Error, Hashable, CustomStringConvertible {
  /// What it is.
  public var description: String { "a fault that the simulation put here" }
}
