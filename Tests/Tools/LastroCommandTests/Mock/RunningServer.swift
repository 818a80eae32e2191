// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import PeerSupport
import TestSupport
import Testing

/// A server of the program, `mock` or `proxy`, that runs until it is stopped or released.
final class RunningServer {
  let url: String
  private let process: Process
  private let directory: PeerDirectory

  /// Starts the program, and waits until it has printed its address.
  init(_ arguments: [String]) async throws {
    let directory = try PeerDirectory()
    let process = Process()
    let outputs = try ["output", "errors"].map {
      try FileHandle(forWritingTo: URL(filePath: directory.write("", to: $0)))
    }
    process.executableURL = URL(filePath: Lastro.path)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    (process.standardOutput, process.standardError) = (outputs[0], outputs[1])
    process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    try process.run()
    let started = await eventually { directory.text(of: "output").hasSuffix("\n") }
    try #require(started, "\(directory.text(of: "errors"))")
    (self.directory, self.process) = (directory, process)
    url = directory.text(of: "output").trimmingCharacters(in: .whitespacesAndNewlines)
  }

  deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

  var port: UInt16 { UInt16(url.split(separator: ":").last ?? "") ?? 0 }
  var errors: String { directory.text(of: "errors") }

  /// Sends a signal, and returns the exit status.
  func stop(_ number: Int32 = SIGINT) async throws -> Int32 {
    kill(process.processIdentifier, number)
    let process = process
    try #require(await eventually { !process.isRunning }, "the program has not ended")
    #expect(process.terminationReason == .exit)
    return process.terminationStatus
  }

  /// Returns the `Location` of a response.
  func location(_ target: String) async throws -> String {
    let lines = try await curl("-i", url + target).text.split(separator: "\r\n")
    let line = try #require(lines.first { $0.lowercased().hasPrefix("location: ") }, "\(lines)")
    return String(line.dropFirst(10))
  }

  /// Runs curl, without a progress bar.
  func curl(_ arguments: String...) async throws -> Lastro.Result {
    try await Lastro.run(["-sS", "--max-time", "60"] + arguments, program: "/usr/bin/curl")
  }
}
