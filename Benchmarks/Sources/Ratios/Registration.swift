import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation
import Synchronization

/// How long it takes to register many stores while another thread dispatches.
struct Registration: Sendable {
  static let size = 100_000

  /// The nanoseconds of the first half.
  let first: Double
  /// The nanoseconds of the second half.
  let second: Double

  init() {
    let fixture = Fixture(PlainReducer())
    let stores = (0..<Self.size).map { _ in Store(reducer: TaggedReducer<Tag.A>()) }
    let other = DispatchingThread(to: fixture.dispatcher)
    let half = Self.size / 2
    first = Stopwatch.nanoseconds {
      for store in stores[..<half] { fixture.dispatcher.register(store: store) }
    }
    second = Stopwatch.nanoseconds {
      for store in stores[half...] { fixture.dispatcher.register(store: store) }
    }
    other.stop()
  }

  /// A thread that dispatches until it is stopped.
  private final class DispatchingThread: Sendable {
    private let isStopped = Atomic(false)
    private let done = DispatchSemaphore(value: 0)

    init(to dispatcher: Dispatcher) {
      let runs = DispatchSemaphore(value: 0)
      let thread = Thread { [self] in
        dispatcher.dispatch(action: Add(1), mode: .sync)
        runs.signal()
        while !isStopped.load(ordering: .relaxed) {
          dispatcher.dispatch(action: Add(1), mode: .sync)
        }
        done.signal()
      }
      thread.start()
      runs.wait()
    }

    func stop() {
      isStopped.store(true, ordering: .relaxed)
      done.wait()
    }
  }
}
