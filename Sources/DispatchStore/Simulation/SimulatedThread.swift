import Synchronization

/// A thread of a simulated world, as the engine sees it.
///
/// It runs only while it has the baton.
///
/// All waits and all changes of shared state of a world call it, so that the seed decides which thread continues.
/// Only its own thread calls it.
package protocol SimulatedThread: AnyObject {
  /// The world of the thread.
  var world: any SimulatedWorld { get }

  /// Whether the thread stands for the main queue.
  var isMainQueue: Bool { get }

  /// The bug planted in this world, to test if it is found.
  var mutant: Mutant? { get }

  /// Lets the world decide which thread continues.
  func yield(_ transition: Transition, _ subject: () -> String)

  /// The number of locks that the thread has.
  var lockCount: Int { get set }

  /// Lets the world decide which thread continues, if it does so at locks, too.
  func comeToLock()

  /// Runs code during which no other thread of the world may run.
  func withoutYielding(_ body: () -> Void)

  /// Waits until the condition holds.
  ///
  /// Other threads evaluate it.
  func wait(for reason: String, until condition: @escaping () -> Bool)

  /// Ends the thread's operation for its queue, while the thread continues.
  func leaveQueue()

  /// Spins for a time that the seed decides.
  ///
  /// Returns whether the condition came true.
  func spin(until condition: () -> Bool) -> Bool
}

extension SimulatedThread {
  /// Locks something; yields while another thread has it.
  package func lock(
    _ name: String, ifFree: @escaping () -> Bool, unlock: @escaping () -> Void
  ) {
    while !ifFree() {
      wait(for: name) {
        guard ifFree() else { return false }
        unlock()
        return true
      }
    }
  }

  /// Makes the calling thread this simulated one, with a new thread state.
  package func begin() {
    #if SIMULATION
      staticAtomic(&simulatedStorage).pointee.store(1, ordering: .relaxed)
    #endif
    ThreadState.renew()
    ThreadState.current.simulated = self
  }
}

/// The calling thread's simulated thread, if any.
package var currentSimulatedThread: (any SimulatedThread)? { ThreadState.current.simulated }

/// Makes the calling thread a real one again.
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
  /// Whether any thread of the process belongs, or has belonged, to a world.
  ///
  /// Read first, because that costs next to nothing. Relaxed is enough: a simulated thread has written the value
  /// itself.
  var hasSimulated: Bool {
    @inline(__always) get { staticAtomic(&simulatedStorage).pointee.load(ordering: .relaxed) != 0 }
  }

  nonisolated(unsafe) private var simulatedStorage: UInt = 0
#endif

/// Marks the boundary between two transitions.
///
/// Does nothing outside a simulation.
///
/// Compiled in debug builds, and in release builds with the trait `Simulation`.
///
/// - Parameter subject: The object of the transition. Evaluated only if a trace is written.
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

/// Awaits an operation, and calls a closure if the task is cancelled meanwhile.
///
/// The runtime has locked the task during that call. So the closure runs no code of the program, and no other simulated
/// thread, which could wait for that lock for ever.
nonisolated(nonsending) func withCancellationHandler<Value>(
  _ operation: nonisolated(nonsending) () async -> Value, onCancel: @Sendable () -> Void
) async -> Value {
  await withTaskCancellationHandler(operation: operation) {
    #if SIMULATION
      if hasSimulated, let simulated = ThreadState.current.simulated {
        return simulated.withoutYielding(onCancel)
      }
    #endif
    onCancel()
  }
}

/// Whether the running simulation has planted a bug here.
@inline(__always)
func isPlanted(_ mutant: Mutant) -> Bool {
  #if SIMULATION
    hasSimulated && ThreadState.current.simulated?.mutant == mutant
  #else
    false
  #endif
}

/// Yields to the test scheduler before a step of a database in memory.
package func yieldBeforeDatabase(_ step: String) { yieldPoint(.useDatabase, step) }

/// Whether the running simulation has planted a bug in a database in memory.
package func isPlantedInDatabase(_ mutant: Mutant) -> Bool { isPlanted(mutant) }
