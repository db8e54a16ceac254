import DispatchStore

/// The commits of a watched store, in the order of versions.
struct StoreCommits: Sendable {
  private var all: [RecordedCommit] = []
  /// The place of each dispatch's last commit.
  private var lastPlaces: [DispatchID: Int] = [:]
  /// The places of the commits outside of dispatches.
  private var outside: [Int] = []
  /// The number of commits whose models are released.
  private var releasedCount = 0

  var first: RecordedCommit? { all.first }

  mutating func append(_ commit: RecordedCommit) {
    if let id = commit.dispatchID { lastPlaces[id] = all.count } else { outside.append(all.count) }
    all.append(commit)
  }

  /// Removes the models up to a version, which the caller releases.
  mutating func takeModels(upTo version: UInt64) -> [any Sendable] {
    var models: [any Sendable] = []
    while releasedCount < all.count, all[releasedCount].version <= version {
      if let model = all[releasedCount].model.take() { models.append(model) }
      releasedCount += 1
    }
    return models
  }

  /// Returns the commits after a version.
  func after(_ version: UInt64) -> ArraySlice<RecordedCommit> {
    all[all.firstPlace { all[$0].version > version }...]
  }

  /// Returns the first commit of a dispatch after a version.
  func first(of dispatchID: DispatchID, after version: UInt64) -> RecordedCommit? {
    // Asked at each event, mostly before there is one.
    guard let last = lastPlaces[dispatchID], all[last].version > version else { return nil }
    return after(version).first { $0.dispatchID == dispatchID }
  }

  /// Returns the last commit of a dispatch, or the last one before a time outside of dispatches: the later of the two.
  ///
  /// - Parameters:
  ///   - dispatchID: The dispatch. If it is nil, all commits outside of dispatches count.
  ///   - end: The time, in the recorder's count of events. If it is nil, the commits of the dispatch count alone.
  func last(of dispatchID: DispatchID?, orOutsideBy end: Int?) -> RecordedCommit? {
    var place = dispatchID.flatMap { lastPlaces[$0] } ?? -1
    if dispatchID == nil {
      place = outside.last ?? -1
    } else if let end {
      let next = outside.firstPlace { all[outside[$0]].at > end }
      if next > 0 { place = max(place, outside[next - 1]) }
    }
    return place < 0 ? nil : all[place]
  }
}

extension Array {
  /// Returns the first place for which a condition holds, as it does for all after it; the end if there is none.
  fileprivate func firstPlace(where isAfter: (Int) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if isAfter(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
