import DispatchStore
import DispatchStoreTesting
import Foundation

/// Runs programs on the system's threads, two at once.
final class FuzzThreads: Sendable {
  let totals = FuzzTotals("threads")
  private let state: Shared<State>
  private let limit = Duration.seconds(20)

  struct State {
    var next: UInt64
    let only: UInt64?
    var running: [Int: (run: FuzzRun, since: ContinuousClock.Instant)] = [:]
    var failure: Failure?
    var isOver = false
  }

  struct Failure {
    let program: FuzzProgram
    let text: String
  }

  /// - Parameter only: The one program to run again and again; nil for all from the first one on.
  init(from first: UInt64, only: UInt64?) {
    state = Shared(State(next: first, only: only))
  }

  /// Runs until a program fails or hangs, or the time is over.
  func run(until end: ContinuousClock.Instant) -> Failure? {
    let group = DispatchGroup()
    for worker in 0..<2 {
      group.enter()
      Thread.detachNewThread {
        while let program = self.next(.now < end) { self.run(program, worker) }
        group.leave()
      }
    }
    while group.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
      if let hang = hang() { return hang }
    }
    return state.now.failure
  }

  private func next(_ isInTime: Bool) -> FuzzProgram? {
    state.with { state -> UInt64? in
      guard isInTime, state.failure == nil else { return nil }
      defer { state.next += 1 }
      return state.only ?? state.next
    }.map(FuzzDraw.program)
  }

  private func run(_ program: FuzzProgram, _ worker: Int) {
    let run = FuzzRun(program, on: ThreadsHost())
    state.with { $0.running[worker] = (run, .now) }
    let ended = DispatchSemaphore(value: 0)
    Task {
      let outcome = try? await FuzzRun.run(run)
      if let outcome {
        totals.add(outcome)
        if let fault = outcome.fault { fail(program, fault) }
      }
      ended.signal()
    }
    ended.wait()
    state.with { $0.running[worker] = nil }
  }

  private func fail(_ program: FuzzProgram, _ text: String) {
    state.with { state in
      if state.failure == nil { state.failure = Failure(program: program, text: text) }
    }
  }

  private func hang() -> Failure? {
    let late = state.now.running.values.filter { .now - $0.since > limit }.map(\.run)
    // The other one may only lack a thread.
    let stuck = late.max { $0.unendedDispatches.count < $1.unendedDispatches.count }
    return stuck.map {
      Failure(program: $0.program, text: "not ended after \(limit): \($0.unended())")
    }
  }
}
