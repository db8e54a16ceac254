@testable import churn

extension TestLog {
  /// The log's events in batches, as every replay gets them.
  func batches(
    copies: Int = 1, capacity: Int = 1000,
    progress: @escaping @Sendable (Int, Int) -> Void = { _, _ in }
  ) throws -> EventBatches {
    let folder = try TemporaryFolder()
    let spooler = Spooler(
      source: BytesSource(bytes), limit: nil, directory: folder.path
    ) { _ in }
    return EventBatches(
      log: try spooler.spool(), copies: copies, capacity: capacity, progress: progress)
  }
}
