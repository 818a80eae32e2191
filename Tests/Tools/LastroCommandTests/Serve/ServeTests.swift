// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro serve", .timeLimit(.minutes(15)))
struct ServeTests {
  @Test("serve runs the demo API until a signal and leaves no file", arguments: [SIGINT, SIGTERM])
  func serves(number: Int32) async throws {
    let process = Process()
    let directory = try PeerDirectory()
    let file = try directory.write("", to: "output")
    process.executableURL = URL(filePath: Lastro.path)
    process.arguments = ["serve"]
    (process.standardOutput, process.standardInput) = (
      try FileHandle(forWritingTo: URL(filePath: file)), FileHandle.nullDevice
    )
    try process.run()
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    #expect(await eventually { directory.text(of: "output").contains("# Enter") })
    let text = directory.text(of: "output")
    let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
    func value(_ name: String) throws -> String {
      String(try #require(words.first { $0.hasPrefix(name + "=") }, "\(text)").dropFirst(name.count + 1))
    }
    let (url, roots) = (try value("GITHUB_API"), try value("SSL_CERT_FILE"))
    let fetched = try await Lastro.run(["fetch", url + "/users/octocat"], environment: ["SSL_CERT_FILE": roots])
    #expect(fetched.text.contains("The Octocat"), "\(fetched.errors)")
    kill(process.processIdentifier, number)
    #expect(await eventually { !process.isRunning })
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    #expect(!FileManager.default.fileExists(atPath: roots))
  }

  @Test("A port in use, and a file that cannot be written, have exit status 1")
  func refused() async throws {
    let other = try LoopbackServer.http { _ in .text("") }
    let taken = try await Lastro.run(["serve", "--port", "\(other.port)"])
    #expect(taken.status == 1 && taken.errors.contains("cannot listen on port \(other.port) of 127.0.0.1"))
    let unwritable = try await Lastro.run(["serve", "--cacert", "/nowhere/root.pem"])
    #expect(unwritable.status == 1 && unwritable.errors.contains("cannot write /nowhere/root.pem"))
  }
}
