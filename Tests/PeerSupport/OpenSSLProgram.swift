// SPDX-License-Identifier: Apache-2.0

/// The `openssl` program, as a second opinion.
package enum OpenSSLProgram {
  /// Runs a shell script that may call `openssl`, in a directory, and gives what it printed, errors included.
  ///
  /// - Parameters:
  ///   - script: for `sh`. A pipeline counts as its last command.
  ///   - directory: where it runs.
  /// - Throws: ``PeerError`` with what it printed when it fails.
  package static func run(_ script: String, in directory: PeerDirectory) async throws -> String {
    _ = try PeerProcess.find(["openssl"], package: "openssl")
    let shell = try PeerProcess.find(["sh"], package: "dash")
    // A directory of its own: what it prints is appended to the log there.
    let output = try PeerDirectory()
    try await PeerProcess.run(shell, ["-e", "-c", "cd '\(directory.path)'\n\(script)"], in: output)
    return output.text(of: "log")
  }
}
