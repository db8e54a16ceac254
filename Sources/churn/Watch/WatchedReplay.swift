import Dispatch
import DispatchStore

/// An observer that shows a replay on the board.
///
/// The task takes the values of a selector of the store that takes part in every action. While no frame may be shown,
/// it takes none. The stream then keeps nothing but a note for it, and no commit computes anything.
final class WatchedReplay: ReplayObserver, @unchecked Sendable {
  // Unchecked because: only the thread that replays touches `watching`.
  private let title: ReplayTitle
  private let allCommits: Int
  private let board: Board
  private var watching: Watching?

  private struct Watching {
    let task: Task<Void, Never>
    let source: BoardSource
  }

  init(_ title: ReplayTitle, allCommits: Int, on board: Board) {
    (self.title, self.allCommits, self.board) = (title, allCommits, board)
  }

  func begin(_ stores: Stores, _ inFlight: (@Sendable () -> Int)?) {
    let source = BoardSource(
      stores: stores, inFlight: inFlight, frame: BoardFrame(title: title, allCommits: allCommits),
      began: board.clock.now)
    let task = Task(executorPreference: BoardExecutor()) { [board] in
      await board.waitForNextFrame()
      for await change in stores.authors.stream(.select(AuthorsModel.summary), initial: true) {
        board.show { source.frame(change.value, at: $0) }
        await board.waitForNextFrame()
      }
    }
    watching = Watching(task: task, source: source)
  }

  func check() {}

  /// Shows the state after all actions.
  func finish(isCut: Bool) {
    end { board, source in
      guard source.isBehind else { return }
      await board.waitForNextFrame()
      board.show { source.frame(at: $0) }
    }
  }

  func stop() {
    end { _, _ in }
  }

  /// Ends the task, and waits for that.
  private func end(_ then: @escaping @Sendable (Board, BoardSource) async -> Void) {
    guard let watching else { return }
    self.watching = nil
    watching.task.cancel()
    let done = DispatchSemaphore(value: 0)
    Task(executorPreference: BoardExecutor()) { [board] in
      await watching.task.value
      await then(board, watching.source)
      done.signal()
    }
    done.wait()
  }
}
