import Foundation

// Kills the program Bank again and again:
//
//     CrashTest [--kills N] [--seed S] [--folder F] [--bank PATH]
//
// Each start of Bank opens the database that the last kill has left, and compares it with the journals. After 50 kills
// there is a new database. A failure leaves its folder.

private func value(_ name: String) -> String? {
  let arguments = CommandLine.arguments
  return arguments.firstIndex(of: name).flatMap {
    $0 + 1 < arguments.count ? arguments[$0 + 1] : nil
  }
}

/// A run of Bank, whose lines are read one by one.
private final class Run {
  let process = Process()
  private let pipe = Pipe()
  private var buffer = Data()
  private(set) var lines: [String] = []

  init(_ bank: String, _ arguments: [String]) throws {
    process.executableURL = URL(filePath: bank)
    process.arguments = arguments
    process.standardOutput = pipe
    try process.run()
  }

  /// The next line; nil once the program has ended.
  func line() -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
        buffer = buffer[(end + 1)...]
        lines.append(line)
        return line
      }
      let data = pipe.fileHandleForReading.availableData
      if data.isEmpty { return nil }
      buffer += data
    }
  }

  func reach(_ word: String) -> Bool {
    while let line = line() { if line == word { return true } }
    return false
  }

  /// Waits for the end; returns how many acknowledged operations it has checked, or nil if it has failed.
  func end(expecting code: Int32?, signal number: Int32? = nil) -> Int? {
    // A program that hangs ends here with SIGALRM's number, and fails the test.
    let watch = DispatchWorkItem { [process] in kill(process.processIdentifier, SIGABRT) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 60, execute: watch)
    while line() != nil {}
    process.waitUntilExit()
    watch.cancel()
    let isExpected =
      process.terminationReason == .exit
      ? process.terminationStatus == code : process.terminationStatus == number
    guard isExpected else { return nil }
    return lines.first { $0.hasPrefix("checked ") }.flatMap { Int($0.dropFirst(8)) } ?? 0
  }
}

private let kills = Int(value("--kills") ?? "") ?? 100
private let seed = UInt64(value("--seed") ?? "") ?? 1
private let folder = value("--folder") ?? "\(NSTemporaryDirectory())/crash"
private let bank =
  value("--bank")
  ?? URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "Bank")
  .path
private let killsPerDatabase = 50

private struct Generator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) | (state << 31)
  }
}

/// Prints a line at once, also into a file.
private func say(_ line: String) {
  try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
}

private func fail(_ what: String, _ run: Run) -> Never {
  say("\(what), in \(folder):")
  for line in run.lines.suffix(30) { print("  \(line)") }
  exit(1)
}

private var random = Generator(state: seed)
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
  kill(run.process.processIdentifier, kind == 15 ? SIGTERM : SIGKILL)
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
  """
  \(done - terminated) SIGKILLs, \(early) of them while it opened or loaded, and \(terminated) SIGTERMs
  \(done) of \(kills) kills survived, \(acknowledged) acknowledged operations checked
  """)
try? FileManager.default.removeItem(atPath: folder)
