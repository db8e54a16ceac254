import Foundation

/// The contents of the JSON file.
struct JSONReport: Encodable {
  let rounds: Int
  let processors: Int
  let met: Int
  let findings: [Finding]

  init(_ findings: [Finding], rounds: Int) {
    self.rounds = rounds
    self.findings = findings
    processors = ProcessInfo.processInfo.activeProcessorCount
    met = findings.count { $0.met }
  }

  func write(to file: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(self).write(to: URL(fileURLWithPath: file), options: .atomic)
  }
}
