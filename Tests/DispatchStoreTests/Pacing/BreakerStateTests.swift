import DispatchStoreTesting
import Testing

@testable import DispatchStore

@Suite("The state of a circuit breaker")
struct BreakerStateTests {
  private func state(failures: Int = 2, trials: Int = 1) -> BreakerState {
    BreakerState(failures: failures, pause: 10, trials: trials)
  }

  @Test func refusesUntilItsPauseHasPassed() {
    var state = state(failures: 1)
    state.run(.failure, at: 5)
    var entry = state.enter(at: 6)
    #expect(entry == .refused(9))
    #expect(state.pauseLeft(at: 6) == 9 && state.pauseLeft(at: 15) == nil)
    entry = state.enter(at: 14)
    #expect(entry == .refused(1) && state.state == .open)
    entry = state.enter(at: 15)
    #expect(entry != .refused(1) && state.state == .halfOpen)
  }

  @Test func letsAsManyPassAsThereAreTrialsAndClosesWhenAllHaveSucceeded() {
    var state = state(failures: 1, trials: 3)
    state.run(.failure, at: 0)
    let trials = (0..<3).compactMap { _ in state.pass(at: 10) }
    var refused = state.enter(at: 10)
    #expect(trials.count == 3 && refused == .refused(10))
    state.report(.success, of: trials[0], at: 11)
    refused = state.enter(at: 11)
    #expect(refused == .refused(10), "No more are needed.")
    state.report(.success, of: trials[1], at: 11)
    #expect(state.state == .halfOpen)
    state.report(.success, of: trials[2], at: 11)
    #expect(state.state == .closed && state.consecutiveFailures == 0)
  }

  @Test func opensAgainWithTheFirstTrialThatFails() {
    var state = state(failures: 1, trials: 2)
    state.run(.failure, at: 0)
    let trials = (0..<2).compactMap { _ in state.pass(at: 10) }
    state.report(.failure, of: trials[0], at: 12)
    #expect(state.state == .open && state.openingCount == 2)
    #expect(state.pauseLeft(at: 12) == 10)
    state.report(.success, of: trials[1], at: 13)
    #expect(state.state == .open)
  }

  @Test func anEndFromBeforeTheLastChangeDoesNotCount() {
    var state = state(failures: 1)
    let (early, late) = (state.pass(at: 0)!, state.pass(at: 0)!)
    state.report(.failure, of: early, at: 0)
    let trial = state.pass(at: 10)!
    state.report(.failure, of: late, at: 10)
    #expect(state.state == .halfOpen)
    state.report(.success, of: trial, at: 10)
    state.report(.failure, of: late, at: 10)
    #expect(state.state == .closed && state.consecutiveFailures == 0)
  }

  @Test func aPauseUntilTheEndOfTimeOverflowsNothing() {
    var state = BreakerState(failures: 1, pause: .max, trials: 1)
    state.run(.failure, at: 5)
    let entry = state.enter(at: 6)
    #expect(entry == .refused(.max - 6))
  }

  @Test(arguments: UInt64(0)..<100)
  func doesWhatAPlainModelDoes(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    let (failures, trials) = (
      Int.random(in: 1...3, using: &dice), Int.random(in: 1...3, using: &dice)
    )
    var state = state(failures: failures, trials: trials)
    var (now, opened, row, succeeded) = (Int64(0), Int64(0), 0, 0)
    var (model, inFlight) = (CircuitBreaker.State.closed, [BreakerState.Pass]())
    for _ in 0..<300 {
      switch Int.random(in: 0..<3, using: &dice) {
      case 0:
        now += Int64.random(in: 0...8, using: &dice)
      case 1:
        let pass = state.pass(at: now)
        if model == .open, now >= opened + 10 {
          (model, inFlight, succeeded) = (.halfOpen, [], 0)
        }
        let may = model == .closed || model == .halfOpen && inFlight.count + succeeded < trials
        #expect((pass != nil) == may)
        if let pass { inFlight.append(pass) }
      default:
        guard !inFlight.isEmpty else { continue }
        let pass = inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &dice))
        let end: BreakerState.Verdict = [.success, .failure, .none].randomElement(using: &dice)!
        state.report(end, of: pass, at: now)
        if end == .none { break }
        row = end == .failure ? row + 1 : 0
        if end == .success { succeeded += 1 }
        if model == .closed ? row >= failures : end == .failure {
          (model, opened, inFlight) = (.open, now, [])
        } else if model == .halfOpen, succeeded == trials {
          (model, inFlight) = (.closed, [])
        }
        if model != .closed { row = 0 }
      }
      #expect(state.state == model)
      #expect(state.consecutiveFailures == (model == .closed ? row : 0))
    }
  }
}

extension BreakerState {
  fileprivate mutating func pass(at time: Int64) -> Pass? {
    if case .pass(let pass) = enter(at: time) { pass } else { nil }
  }

  /// Lets one pass and end.
  fileprivate mutating func run(_ verdict: Verdict, at time: Int64) {
    if let pass = pass(at: time) { report(verdict, of: pass, at: time) }
  }
}
