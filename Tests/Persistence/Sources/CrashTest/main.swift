import Foundation
import Programs

// Kills the program Bank again and again:
//
//     CrashTest [--kills N] [--seed S] [--folder F] [--bank PATH]
//
// Each start of Bank opens the database that the last kill has left, and compares it with the journals. After 50 kills
// there is a new database. A failure leaves its folder.

/// A run of Bank.
private final class Run: RunningProgram {
  private(set) var printed: [String] = []

  override func line() -> String? {
    let line = super.line()
    if let line { printed.append(line) }
    return line
  }

  func reach(_ word: String) -> Bool {
    while let line = line() { if line == word { return true } }
    return false
  }

  /// Waits for the end; returns how many acknowledged operations it has checked, or nil if it has failed.
  func end(expecting code: Int32?, signal number: Int32? = nil) -> Int? {
    // A program that hangs ends here by SIGABRT, and fails the test.
    let watch = DispatchWorkItem { [process] in kill(process.processIdentifier, SIGABRT) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: watch)
    while line() != nil {}
    let ended = end()
    watch.cancel()
    let isExpected = ended.signal == nil ? ended.code == code : ended.signal == number
    guard isExpected else { return nil }
    return printed.first { $0.hasPrefix("checked ") }.flatMap { Int($0.dropFirst(8)) } ?? 0
  }
}

private let kills = Int(argument("--kills") ?? "") ?? 100
private let seed = UInt64(argument("--seed") ?? "") ?? 1
private let folder = argument("--folder") ?? "\(NSTemporaryDirectory())/crash"
private let bank =
  argument("--bank")
  ?? URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "Bank")
  .path
private let killsPerDatabase = 50

private func fail(_ what: String, _ run: Run) -> Never {
  say("\(what), in \(folder):")
  for line in run.printed.suffix(30) { print("  \(line)") }
  exit(1)
}

private var random = SeededGenerator(seed: seed)
private var (done, acknowledged, early, terminated) = (0, 0, 0, 0)

while done < kills {
  let run = try { () throws -> Run in
    if done % killsPerDatabase == 0 {
      try? FileManager.default.removeItem(atPath: folder)
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    return try Run(bank, ["run", folder, "--seed", "\(seed &* 1_000_003 &+ UInt64(done))"])
  }()
  let (kind, pause) = (
    Int.random(in: 0..<16, using: &random), Double.random(in: 5...300, using: &random)
  )
  // One in 16 is asked to end instead, and two are killed while they open and load.
  if kind == 0 || kind == 1 {
    Thread.sleep(forTimeInterval: pause / 3_000)
    early += 1
  } else {
    guard run.reach("ready") else {
      _ = run.end(expecting: nil)
      fail("Kill \(done + 1) was not survived", run)
    }
    Thread.sleep(forTimeInterval: pause / 1_000)
  }
  run.signal(kind == 15 ? SIGTERM : SIGKILL)
  // Before it has set its handler, SIGTERM kills it.
  guard run.end(expecting: kind == 15 ? 0 : nil, signal: kind == 15 ? SIGTERM : SIGKILL) != nil
  else { fail("Run \(done + 1) has ended by itself", run) }
  done += 1
  if kind == 15 { terminated += 1 }
  if done % killsPerDatabase == 0 || done == kills {
    let check = try Run(bank, ["check", folder])
    guard let count = check.end(expecting: 0) else { fail("Kill \(done) was not survived", check) }
    acknowledged += count
    say("\(done) of \(kills) kills, \(acknowledged) acknowledged operations checked")
  }
}
say(
  "\(done - terminated) SIGKILLs, \(early) of them while it opened or loaded, and \(terminated) SIGTERMs"
)
say("\(done) of \(kills) kills survived, \(acknowledged) acknowledged operations checked")
try? FileManager.default.removeItem(atPath: folder)
