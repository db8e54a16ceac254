import Testing

@testable import DispatchStore

@Suite struct RecorderStateTests {
  private let move = DispatchID(rawValue: 1)
  private let other = DispatchID(rawValue: 2)

  private func commit(_ index: Int, of id: DispatchID, isTogether: Bool) -> TapedCommit {
    let rest = ModelRest()
    return TapedCommit(
      index: index, identifier: "\(index)", versions: (0, 1), dispatchIDs: ShortList(id),
      isTogether: isTogether, rests: (rest, rest))
  }

  /// The numbers of commits, by store, after the end of another dispatch between two commits of one dispatch.
  private func commitsAfterEndBetween(isTogether: Bool) -> [Int] {
    var state = RecorderState(limit: 10, byteLimit: nil)
    state.begin(move)
    state.begin(other)
    _ = state.keep(commit(0, of: move, isTogether: isTogether))
    let ended = state.takeUnderWay(other)
    _ = state.add(ended)
    _ = state.keep(commit(1, of: move, isTogether: isTogether))
    return (0...1).map { index in
      let own = state.commits.filter { $0.index == index }
      return StateDistance(own, from: ended.mark, to: state.commitCount).commits.count
    }
  }

  @Test func noDispatchEndsBetweenTheCommitsOfAnAtomicAction() {
    #expect(commitsAfterEndBetween(isTogether: true) == [0, 0])
    #expect(commitsAfterEndBetween(isTogether: false) == [0, 1])
  }

  @Test func aDispatchThatHasWaitedForSavingIsAtTheLastCommitThatWasMadeInIt() {
    var state = RecorderState(limit: 10, byteLimit: nil)
    let inner = DispatchID(rawValue: 3)
    state.begin(move)
    _ = state.keep(commit(0, of: move, isTogether: false))
    state.begin(inner, countingFor: move)
    _ = state.keep(commit(1, of: inner, isTogether: false))
    _ = state.add(state.takeUnderWay(inner))
    state.begin(other)
    _ = state.keep(commit(0, of: other, isTogether: false))
    let ended = state.takeUnderWay(move)
    _ = state.add(ended, hasWaited: true)
    #expect(ended.mark == 2 && state.commitCount == 3)
  }

  @Test func aDispatchThatIsMadeOnceTheStoresOfItsParentHaveEndedIsNoPartOfThat() {
    var state = RecorderState(limit: 10, byteLimit: nil)
    let late = DispatchID(rawValue: 3)
    let session = MiddlewareSession()
    state.begin(move, session: session)
    _ = state.keep(commit(0, of: move, isTogether: false))
    session.noteWaitForSaving()
    state.begin(other)
    _ = state.keep(commit(0, of: other, isTogether: false))
    state.begin(late, countingFor: move)
    _ = state.keep(commit(1, of: late, isTogether: false))
    _ = state.add(state.takeUnderWay(late))
    let ended = state.takeUnderWay(move)
    _ = state.add(ended, hasWaited: true)
    #expect(ended.mark == 1 && state.commitCount == 3)
  }

  @Test func aTravelNeedsAllCommitsSinceThen() {
    var state = RecorderState(limit: 2, byteLimit: nil)
    for _ in 0..<6 {
      state.begin(move)
      for index in 0...1 { _ = state.keep(commit(index, of: move, isTogether: true)) }
      _ = state.add(state.takeUnderWay(move))
    }
    // Two commits each; only those of the last dispatch are kept.
    #expect(state.commits.map(\.place) == [11, 11])
    #expect(state.canGoBack(to: 12) && state.canGoBack(to: 10))
    #expect(!state.canGoBack(to: 8))
  }

  @Test func aStoreThatWasAwayNeedsAllCommitsSinceItsOwnPlace() {
    var state = RecorderState(limit: 30, byteLimit: nil)
    for number in 1...30 { _ = state.keep(commit(number % 2, of: move, isTogether: false)) }
    _ = state.takeMoves(of: [0, 1], from: 30, to: 5, of: 30)
    _ = state.takeMoves(of: [0], from: 5, to: 20, of: 30)
    // Drops the commits up to place 8.
    for _ in 0..<38 { _ = state.keep(commit(0, of: other, isTogether: false)) }
    _ = state.takeExcess()
    #expect(!state.hasAll(after: 7) && state.hasAll(after: 8))
    let all = state.takeMoves(of: [0, 1], from: 20, to: 30, of: 30)
    let present = state.takeMoves(of: [0], from: 20, to: 30, of: 30)
    #expect(all == nil)
    #expect(present?[0]?.map(\.commits.count) == [38, 5])
  }

  @Test func changesMadeDuringATravelAreTakenBackInOneStep() {
    var state = RecorderState(limit: 100, byteLimit: nil)
    for index in 0..<6 { _ = state.keep(commit(index % 3, of: move, isTogether: false)) }
    _ = state.takeMoves(of: [0, 1, 2], from: 6, to: 3, of: 6)
    for index in 0..<3 { _ = state.keep(commit(index, of: other, isTogether: false)) }
    let moves = state.takeMoves(of: [0, 1, 2], from: 3, to: 6, of: 6)
    for index in 0..<3 {
      #expect(moves?[index]?.map(\.commits.count) == [1, 1])
      #expect(moves?[index]?.map(\.isBack) == [true, false])
    }
    #expect(state.commits.count == 6 && state.commitCount == 10)
  }

  @Test func noPlaceFromBeforeAStoreWasLoadedIsReached() {
    var state = RecorderState(limit: 10, byteLimit: nil)
    for _ in 0..<3 { _ = state.keep(commit(0, of: move, isTogether: false)) }
    let mark = state.commitCount
    _ = state.forgetAll()
    #expect(!state.hasAll(after: 1) && !state.canGoBack(to: mark))
    #expect(state.canGoBack(to: state.commitCount))
  }
}
