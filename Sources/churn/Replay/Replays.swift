import DispatchStore

/// All replays that the command line asks for: round by round, each mode after the plain loop.
struct Replays {
  let options: Options
  let log: SpooledLog
  let progress: ProgressLine
  /// The file to which the answers are written while they change; nil for none.
  let file: FollowedFile?
  let stop: Stop
  var recorder: DispatchRecorder?

  /// The results of the replays.
  struct Outcome {
    /// The plain loop's answers, of all copies together; nil if it was cut.
    var answers: Answers?
    /// The verdicts of the replayers that came to the end at least once; the plain loop first.
    var verdicts: [Verdict] = []
    /// The last replay, if it was ended early.
    var cut: CutReplay?
  }

  /// Replays until all is done, or the stop is requested.
  ///
  /// Blocks its thread; must not be called on the main queue.
  func run() throws -> Outcome {
    let replayers = try Replayers.all(for: options, recordedBy: recorder)
    var outcome = Outcome()
    var trials: [[Trial]] = replayers.map { _ in [] }
    rounds: for round in 1...options.roundCount {
      var floor: Measurement?
      for (index, replayer) in replayers.enumerated() {
        let title = ReplayTitle(mode: replayer.name, round: round, rounds: options.roundCount)
        let history = batches(of: title)
        let followed =
          replayer.hasStores
          ? file.map { FollowedReplay(title, copies: options.copies, to: $0) } : nil
        let result = try replayer.replay(history, followed, until: stop)
        if let cut = result.cut {
          outcome.cut = CutReplay(title, cut, result.models, of: history)
          break rounds
        }
        let answers = Answers(result.models)
        let (ofLoop, answersOfLoop) = (floor ?? result.measurement, outcome.answers ?? answers)
        trials[index].append(
          Trial(
            result.measurement, floor: ofLoop,
            differences: answers.differences(from: answersOfLoop)))
        (floor, outcome.answers) = (ofLoop, answersOfLoop)
      }
    }
    outcome.verdicts = zip(trials, replayers).compactMap { trials, replayer in
      trials.isEmpty ? nil : Verdict(of: trials, promisesOrder: replayer.keepsOrder)
    }
    return outcome
  }

  private func batches(of title: ReplayTitle) -> EventBatches {
    EventBatches(log: log, copies: options.copies) { [progress] done, all in
      progress.show("replaying: \(title.text)", done: done, of: all)
    }
  }
}
