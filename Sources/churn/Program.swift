/// The whole run, from the command line to the exit code.
struct Program {
  let arguments: [String]
  let environment: [String: String]
  /// The folder that the program was started in.
  let directory: String
  /// The folder for temporary files.
  let temporaryDirectory: String
  let output: any TextOutput
  let messages: any TextOutput
  /// The time that the board goes by.
  var clock: any BoardClock = SystemClock()

  /// Runs the program.
  ///
  /// Blocks its thread; must not be called on the main queue, on which one mode dispatches.
  func run() -> ExitCode {
    do {
      let options = try OptionParser.parse(arguments)
      if options.showsHelp {
        try output.write(Usage.text)
        return .ok
      }
      return try report(options)
    } catch let failure as Failure {
      printMessage(failure.message)
      return failure.code
    } catch {
      printMessage("\(error)")
      return .software
    }
  }

  private func report(_ options: Options) throws -> ExitCode {
    let progress = ProgressLine(on: messages)
    defer { progress.clear() }
    let input = try Input(options.source, environment: environment, directory: directory)
    if let notice = input.notice { printMessage(notice) }
    let file = try followedFile(options, input)
    let log = try spool(input, options, progress)
    printMessage(log.summary.rejections)
    for mode in options.modes where options.producers > 1 && !mode.takesSeveralProducers {
      printMessage("the mode \(mode.rawValue) takes one producer, not \(options.producers)")
    }
    let board = options.watches ? Board(on: messages, clock) : nil
    let findings: Findings
    do {
      defer { board?.close() }
      findings = try self.findings(
        options, input, log, progress, ReplayObservation(board: board, file: file))
      progress.clear()
    }
    try output.write(
      options.printsJSON
        ? JSONReport(findings: findings).text : TextReport(findings: findings).text)
    return reportBroken(findings) ? .software : .ok
  }

  private func followedFile(
    _ options: Options, _ input: Input
  ) throws(Failure) -> FollowedFile? {
    guard let path = options.followed else { return nil }
    do {
      let file = try FollowedFile(path: path)
      try file.check(against: input.source)
      return file
    } catch {
      input.source.stop()
      throw error
    }
  }

  private func spool(
    _ input: Input, _ options: Options, _ progress: ProgressLine
  ) throws(Failure) -> SpooledLog {
    defer { progress.clear() }
    let spooler = Spooler(
      source: input.source, limit: options.limit, directory: temporaryDirectory
    ) { summary in
      progress.show("reading \(input.source.name): \(Numbers.counted(summary.commits, "commit"))")
    }
    return try spooler.spool()
  }

  private func findings(
    _ options: Options, _ input: Input, _ log: SpooledLog, _ progress: ProgressLine,
    _ observation: ReplayObservation
  ) throws -> Findings {
    let replayers = Replayers.all(for: options)
    var reference: Answers?
    var trials: [[Trial]] = replayers.map { _ in [] }
    for round in 1...options.roundCount {
      var floor: Measurement?
      for (index, replayer) in replayers.enumerated() {
        let title = ReplayTitle(mode: replayer.name, round: round, rounds: options.roundCount)
        // The board shows the progress itself.
        let showsProgress = observation.board == nil || !replayer.hasStores
        if !showsProgress { progress.clear() }
        let batches = EventBatches(log: log, copies: options.copies) { done, all in
          if showsProgress { progress.show("replaying: \(title.text)", done: done, of: all) }
        }
        let result = try replayer.replay(batches, observation.observers(of: title, batches))
        let answers = Answers(result.models)
        let (ofLoop, answersOfLoop) = (floor ?? result.measurement, reference ?? answers)
        trials[index].append(
          Trial(
            result.measurement, floor: ofLoop,
            differences: answers.differences(from: answersOfLoop)))
        (floor, reference) = (ofLoop, answersOfLoop)
      }
    }
    let verdicts = zip(trials, replayers).map { trials, replayer in
      Verdict(of: trials, promisesOrder: replayer.keepsOrder)
    }
    let answers = try (reference ?? Answers()).ofOneCopy(among: options.copies)
    return Findings(
      title: input.repository.map { "\($0.path) at \($0.head)" } ?? input.source.name,
      log: log.summary, head: input.repository?.head, answers: answers, verdicts: verdicts,
      git: try compareWithGit(input.repository, log.summary.lastHash, answers))
  }

  private func compareWithGit(
    _ repository: Repository?, _ commit: ByteString?, _ answers: Answers
  ) throws(Failure) -> GitComparison? {
    guard let repository, let commit else { return nil }
    do {
      let numstat = try repository.numstat(at: commit.text)
      return try GitComparison(answers.linesByFile, numstat: numstat)
    } catch let error as GitError {
      throw Failure(.unavailable, "git diff of '\(repository.path)': \(error)")
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(.software, "\(error)")
    }
  }
}

// MARK: - Messages

extension Program {
  private func printMessage(_ message: String) {
    try? messages.write("churn: \(message)\n")
  }

  private func printMessage(_ rejections: Rejections) {
    for rejection in rejections.first { printMessage("\(rejection)") }
    let rest = rejections.count - rejections.first.count
    if rest > 0 { printMessage("and \(Numbers.grouped(rest)) more malformed records") }
  }

  /// Reports broken promises and differences from git; returns whether there are any.
  private func reportBroken(_ findings: Findings) -> Bool {
    let broken = findings.verdicts.filter { !$0.broken.isEmpty }
    for verdict in broken {
      for difference in verdict.broken {
        printMessage("\(verdict.measurement.name) broke its promise: \(difference)")
      }
    }
    guard let git = findings.git, !git.isEqual else { return !broken.isEmpty }
    printMessage("not as in git: \(git.examples.joined(separator: "; "))")
    return true
  }
}
