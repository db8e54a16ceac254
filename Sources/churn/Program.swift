import DispatchStore

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
  /// Ends the replays early.
  var stop = Stop()

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
    let (file, record) = try openFiles(options, input)
    let log = try spool(input, options, progress)
    printMessage(log.summary.rejections)
    for mode in options.modes where options.producers > 1 && !mode.takesSeveralProducers {
      printMessage("the mode \(mode.rawValue) takes one producer, not \(options.producers)")
    }
    let outcome = try replay(options, log, progress, file, record?.recorder)
    progress.clear()
    if let record { printMessage(try record.write()) }
    let findings = try findings(options, input, log, outcome)
    try output.write(
      options.printsJSON
        ? JSONReport(findings: findings).text : TextReport(findings: findings).text)
    let isBroken = reportBroken(findings)
    // After a cut there is no time left for more.
    if let cut = findings.cut { return isBroken ? .software : cut.cut.signal.exitCode }
    let isLikeGit = try compareWithGit(options, input, findings, progress)
    return isBroken || !isLikeGit ? .software : .ok
  }

  /// Opens the files to write, each another one than the log that is read.
  private func openFiles(
    _ options: Options, _ input: Input
  ) throws(Failure) -> (FollowedFile?, RecordedReplay?) {
    do throws(Failure) {
      let file: FollowedFile? =
        if let path = options.followed { try FollowedFile(path: path) } else { nil }
      let record: RecordedReplay? =
        if let named = options.recorded { try RecordedReplay(named) } else { nil }
      if let file, input.source.reads(file.descriptor) { throw overwriting("--follow") }
      if let record, input.source.reads(record.descriptor) { throw overwriting("--record") }
      if let file, let record, file.descriptor.isSameFile(as: record.descriptor) {
        throw Failure(.usage, "'--follow' and '--record' name the same file; name another one")
      }
      return (file, record)
    } catch {
      input.source.stop()
      throw error
    }
  }

  private func overwriting(_ option: String) -> Failure {
    Failure(.usage, "'\(option)' names the log that is read; name another file")
  }

  private func spool(
    _ input: Input, _ options: Options, _ progress: ProgressLine
  ) throws(Failure) -> SpooledLog {
    defer { progress.clear() }
    let spooler = Spooler(
      source: input.source, limit: options.limit, directory: temporaryDirectory
    ) { summary in
      let commits = Numbers.counted(summary.commits, "commit")
      progress.show("reading", " \(commits) of \(ByteString(input.source.name))")
    }
    return try spooler.spool()
  }

  private func replay(
    _ options: Options, _ log: SpooledLog, _ progress: ProgressLine,
    _ file: FollowedFile?, _ recorder: DispatchRecorder?
  ) throws -> Replays.Outcome {
    Interruption.replays(true)
    defer { Interruption.replays(false) }
    let replays = Replays(
      options: options, log: log, progress: progress, file: file, stop: stop, recorder: recorder)
    return try replays.run()
  }

  private func findings(
    _ options: Options, _ input: Input, _ log: SpooledLog, _ outcome: Replays.Outcome
  ) throws -> Findings {
    let answers = try outcome.answers?.ofOneCopy(among: options.copies)
    let repository = input.repository.map {
      "\($0.path) at \($0.head)\($0.isShallow ? ", a shallow clone" : "")"
    }
    return Findings(
      title: ByteString(repository ?? input.source.name).description,
      log: log.summary, head: input.repository?.head, answers: answers, verdicts: outcome.verdicts,
      cut: outcome.cut)
  }

  /// Compares the answers with git's count of the last commit, and adds that to the report; false if they differ.
  ///
  /// It comes last, since git may fail, or take long.
  private func compareWithGit(
    _ options: Options, _ input: Input, _ findings: Findings, _ progress: ProgressLine
  ) throws(Failure) -> Bool {
    guard let repository = input.repository, let commit = findings.log.lastHash else { return true }
    progress.show("comparing with git")
    do {
      let numstat = try repository.numstat(at: commit.text)
      let git = try GitComparison(findings.answers?.linesByFile ?? [:], numstat: numstat)
      progress.clear()
      if !options.printsJSON { try output.write("\n\(git.text(at: commit))") }
      if !git.isEqual { printMessage("not as in git: \(git.examples.joined(separator: "; "))") }
      return git.isEqual
    } catch let error as GitError {
      throw Failure(.unavailable, "git diff of '\(repository.path)': \(error)")
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(.software, "\(error)")
    }
  }
}
