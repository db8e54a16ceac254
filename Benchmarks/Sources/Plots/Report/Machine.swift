import Foundation

/// The machine on which the figures were measured.
enum Machine {
  /// One line: processors, architecture, system, compiler.
  static var description: String {
    let processors = ProcessInfo.processInfo.activeProcessorCount
    return "\(processors) processors, \(architecture), \(system), \(swift)"
  }

  private static var architecture: String {
    #if arch(x86_64)
      "x86-64"
    #elseif arch(arm64)
      "arm64"
    #else
      "unknown architecture"
    #endif
  }

  private static var system: String {
    #if os(Linux)
      "Linux"
    #else
      ProcessInfo.processInfo.operatingSystemVersionString
    #endif
  }

  /// The version of the `swift` in the path, because a program does not know which compiled it.
  private static var swift: String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swift", "--version"]
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return "Swift" }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let version = text.firstMatch(of: /Swift version (\S+)/)
    return version.map { "Swift \($0.output.1)" } ?? "Swift"
  }
}
