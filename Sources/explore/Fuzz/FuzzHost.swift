import DispatchStore
import DispatchStoreTesting
import Foundation

/// The host of a program: a simulated world, or the system's threads.
protocol FuzzHost: Sendable {
  func makeDispatcher(name: String, queue: OperationQueue?) -> Dispatcher
  /// Runs a closure on a thread for which nothing waits.
  func startThread(_ body: @escaping @Sendable () -> Void)
  /// Runs a closure on such a thread later; in a simulation, once nothing else can run.
  ///
  /// On threads it needs no task, since `.sync` dispatches in tasks may hold all threads that run these.
  func startThreadLater(_ body: @escaping @Sendable () -> Void)
  /// Starts a task for which nothing waits.
  @discardableResult
  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never>
  /// Runs a closure in an operation of the program's own on a queue.
  func add(to queue: OperationQueue, _ body: @escaping @Sendable () -> Void)
  /// A simulation's clock goes on at once.
  func passTime()
  /// Returns later, in a simulation once nothing else can run.
  func pause() async throws
}

struct SimulatedHost: FuzzHost {
  let control: SimulationControl

  func makeDispatcher(name: String, queue: OperationQueue?) -> Dispatcher {
    control.makeDispatcher(name: name, queue: queue)
  }

  func startThread(_ body: @escaping @Sendable () -> Void) {
    control.startThread(body)
  }

  func startThreadLater(_ body: @escaping @Sendable () -> Void) {
    control.startTask {
      try? await self.pause()
      body()
    }
  }

  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    control.startTask(body)
  }

  /// The queue's own threads are not of the world.
  func add(to queue: OperationQueue, _ body: @escaping @Sendable () -> Void) {
    control.startThread(body)
  }

  func passTime() {
    control.clock.advance(by: .milliseconds(2))
  }

  func pause() async throws {
    try await control.clock.sleep(for: .seconds(1))
  }
}

struct ThreadsHost: FuzzHost {
  func makeDispatcher(name: String, queue: OperationQueue?) -> Dispatcher {
    Dispatcher(name: name, queue: queue)
  }

  func startThread(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }

  func startThreadLater(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(200), execute: body)
  }

  func startTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(operation: body)
  }

  func add(to queue: OperationQueue, _ body: @escaping @Sendable () -> Void) {
    queue.addOperation(body)
  }

  func passTime() {}

  func pause() async throws {
    try await Task.sleep(for: .microseconds(200))
  }
}
