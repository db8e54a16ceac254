/// The progress of a replay that was ended early.
struct Cut: Equatable, Sendable {
  let signal: Signal
  /// The number of dispatched events; with one producer, the first ones of the history.
  ///
  /// Includes those of earlier runs.
  let dispatched: Int
  /// Whether the replay has gone on with that of an earlier run: see `EventBatches.isResumed`.
  var isResumed = false
  /// The number of these events that had not ended when the drain of the dispatcher did.
  var unfinished = 0
}

/// A replay that was ended early, and the events that its stores have taken in.
struct CutReplay: Equatable, Sendable {
  let title: ReplayTitle
  let cut: Cut
  let commits: Int
  let changes: Int
  /// The commits of all copies together.
  let allCommits: Int
  let allChanges: Int

  init(_ title: ReplayTitle, _ cut: Cut, _ models: Models, of history: EventBatches) {
    (self.title, self.cut) = (title, cut)
    (commits, changes) = (models.authors.commits, models.files.changes)
    allCommits = history.log.summary.commits * history.copies
    allChanges = history.log.summary.changes * history.copies
  }

  /// Whether the stores have taken in exactly the dispatched events.
  var isWhole: Bool {
    let taken = commits + changes
    return cut.unfinished > 0 || taken == cut.dispatched || cut.isResumed && taken > cut.dispatched
  }

  /// The text in the form `serial, round 1 of 3: 5 of 9 commits, 7 of 12 changes; all that was dispatched has ended`.
  var text: String {
    let unfinished = Numbers.counted(cut.unfinished, "action")
    let ending =
      cut.unfinished == 0
      ? "all that was dispatched has ended"
      : "\(unfinished) had not ended after \(DispatchedReplay.drainLimit)"
    return "\(title.text): \(Numbers.grouped(commits)) of "
      + "\(Numbers.counted(allCommits, "commit")), \(Numbers.grouped(changes)) of "
      + "\(Numbers.counted(allChanges, "change")); \(ending)"
  }
}
