// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroTesting

/// Keeps the demo API running until the standard input ends, for a program that has no way to the real one.
func serve() async -> Int32 {
  do {
    let server = try DemoAPI.start()
    let directory = FileManager.default.temporaryDirectory
    let roots = directory.appending(path: "lastro-demo-root-\(ProcessInfo.processInfo.processIdentifier).pem")
    try Data(server.caPEM.utf8).write(to: roots)
    defer { try? FileManager.default.removeItem(at: roots) }
    say("export GITHUB_API=\(server.baseURL) SSL_CERT_FILE=\(roots.path)")
    say("# Enter that in another terminal. The server runs until you press Ctrl-D here.")
    // A program that started this through a pipe waits for these lines.
    fflush(nil)
    while readLine() != nil {}
    server.stop()
    return 0
  } catch {
    say("\(error)")
    return 1
  }
}
