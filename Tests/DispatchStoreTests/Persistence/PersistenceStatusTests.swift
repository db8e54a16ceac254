import Foundation
import Testing

@testable import DispatchStore

@Suite("The status of a persistence", .timeLimit(.minutes(1)))
struct PersistenceStatusTests {
  /// One is published while another one is on its way to the observers, as by the thread that ends saving.
  @Test func eachObserverIsToldTheStatusesInTheOrderOfTheChanges() async throws {
    let stage = try await PersistenceStage()
    let (persistence, executor) = (stage.persistence, ResumingExecutor())
    // The registration's own status is published then.
    persistence.queue.sync {}
    let publishNext: @Sendable () -> Void = {
      persistence.state.withLock { $0.status.group += 1 }
      persistence.publishStatus()
    }
    let (first, second) = (persistence.statuses, persistence.statuses)
    let group = persistence.status.group
    let seen = Recorder<Int64>()
    let consumer = Task(executorPreference: executor) {
      for await status in first { seen.record(status.group) }
    }
    executor.whenNextResumes(publishNext)
    publishNext()
    var statuses = second.makeAsyncIterator()
    let newest = await statuses.next()
    #expect(newest?.group == group + 2)
    #expect(await seen.first(3) == [group, group + 1, group + 2])
    consumer.cancel()
  }
}

/// Runs tasks on a queue, and code on the thread that resumes one.
private final class ResumingExecutor: TaskExecutor {
  private let queue = DispatchQueue(label: "consumer")
  private let body = Locked<(@Sendable () -> Void)?>(nil)

  /// Calls a closure when a task is resumed next, once all of them have suspended.
  func whenNextResumes(_ body: @escaping @Sendable () -> Void) {
    queue.sync {}
    self.body.withLock { $0 = body }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    body.exchange(nil)?()
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
