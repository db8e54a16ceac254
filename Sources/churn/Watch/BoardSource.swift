import DispatchStore

/// Makes frames of the present state of a replay's stores.
final class BoardSource: @unchecked Sendable {
  // Unchecked because: the board's task alone makes frames; after it has ended, the task that waited for that.
  let stores: Stores
  private let inFlight: (@Sendable () -> Int)?
  private let began: UInt64
  private var frame: BoardFrame
  private var meter: RateMeter

  init(
    stores: Stores, inFlight: (@Sendable () -> Int)?, frame: BoardFrame, began: UInt64
  ) {
    (self.stores, self.inFlight, self.frame, self.began) = (stores, inFlight, frame, began)
    meter = RateMeter(at: began)
  }

  /// Whether the last frame differs from the present state of the stores.
  var isBehind: Bool { present(authors) != frame }

  private var authors: AuthorsModel.Summary { stores.authors.select(AuthorsModel.summary) }

  func frame(at now: UInt64) -> BoardFrame { frame(authors, at: now) }

  /// - Parameter authors: The summary of the authors, as the stream has delivered it.
  func frame(_ authors: AuthorsModel.Summary, at now: UInt64) -> BoardFrame {
    frame = present(authors)
    meter.add(frame.actions, at: now)
    (frame.rate, frame.rates) = (meter.rate, meter.history)
    frame.elapsed = now - began
    return frame
  }

  private func present(_ authors: AuthorsModel.Summary) -> BoardFrame {
    var frame = frame
    frame.authors = authors
    frame.files = stores.files.select(FilesModel.summary)
    frame.folders = stores.folders.select(FoldersModel.summary)
    frame.days = stores.days.select(DaysModel.summary)
    frame.inFlight = inFlight?()
    return frame
  }
}
