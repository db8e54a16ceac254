/// The observers of replays that the command line asks for.
struct ReplayObservation {
  let board: Board?
  let file: FollowedFile?

  /// The observers of one replay; empty if nothing is to follow it.
  func observers(of title: ReplayTitle, _ history: EventBatches) -> [any ReplayObserver] {
    var observers: [any ReplayObserver] = []
    if let file { observers.append(FollowedReplay(title, copies: history.copies, to: file)) }
    if let board {
      let commits = history.log.summary.commits * history.copies
      observers.append(WatchedReplay(title, allCommits: commits, on: board))
    }
    return observers
  }
}
