import Synchronization

/// A thread of a simulated world, as the engine sees it; it runs only while it has the baton.
///
/// In a world all waits and all changes of what threads share pass here, so that the seed decides which
/// thread continues. Only its own thread calls it.
package protocol SimulatedThread: AnyObject {
  /// The world that it belongs to.
  var world: any SimulatedWorld { get }

  /// Whether it stands for the main queue.
  var isMainQueue: Bool { get }

  /// The bug that is planted in this world, to see whether it is found.
  var mutant: Mutant? { get }

  /// Lets the world decide which thread continues.
  func yield(_ transition: Transition, _ subject: () -> String)

  /// Continues once the condition holds; other threads evaluate it.
  func wait(for reason: String, until condition: @escaping () -> Bool)

  /// The operation that it runs has ended for its queue, and the thread goes on.
  func leaveQueue()

  /// Spins for a time that the seed decides; whether the condition came true.
  func spin(until condition: () -> Bool) -> Bool
}

extension SimulatedThread {
  /// From now on the calling thread is this one, with a new thread state.
  package func begin() {
    #if SIMULATION
      staticAtomic(&simulatedStorage).pointee.store(1, ordering: .relaxed)
    #endif
    ThreadState.renew()
    ThreadState.current.simulated = self
  }
}

/// The one that the calling thread is.
package var currentSimulatedThread: (any SimulatedThread)? { ThreadState.current.simulated }

/// From now on the calling thread is of no world.
package func leaveSimulation() {
  ThreadState.renew()
}

/// Whether yield points are compiled in.
package var hasYieldPoints: Bool {
  #if SIMULATION
    true
  #else
    false
  #endif
}

#if SIMULATION
  /// Whether some thread of the process is of a world, or was.
  ///
  /// Read first, because that costs next to nothing. A thread of a world has written it itself.
  var hasSimulated: Bool {
    @inline(__always) get { staticAtomic(&simulatedStorage).pointee.load(ordering: .relaxed) != 0 }
  }

  nonisolated(unsafe) private var simulatedStorage: UInt = 0
#endif

/// Where one transition has ended and the next one begins; does nothing outside a simulation.
///
/// Compiled in debug builds, and in release builds with the trait `Simulation`.
///
/// - Parameter subject: What it is about; evaluated where a trace is written.
@inline(__always)
func yieldPoint(
  _ transition: Transition, on thread: ThreadState? = nil,
  _ subject: @autoclosure () -> String = ""
) {
  #if SIMULATION
    if hasSimulated, let simulated = (thread ?? .current).simulated {
      simulated.yield(transition, subject)
    }
  #endif
}

/// Whether a bug is planted here in the simulation that runs.
@inline(__always)
func isPlanted(_ mutant: Mutant) -> Bool {
  #if SIMULATION
    hasSimulated && ThreadState.current.simulated?.mutant == mutant
  #else
    false
  #endif
}
