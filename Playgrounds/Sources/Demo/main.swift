// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro
import LastroCurl
import LastroTesting

// The steps that few other clients can show come first.
let steps: [Step] = [
  .refreshing, .pinning, .keyRotation, .retrying, .cancelling, .logging, .apiErrors, .streaming, .typedFetch,
  .pagination, .createIssue,
]

/// Returns the result of `make`. If that throws, prints the error and exits with status 1.
func begun<T>(_ make: () throws -> T) -> T {
  do {
    return try make()
  } catch {
    print(error)
    exit(1)
  }
}

let start = ContinuousClock.now
let server = begun { try DemoServer.started.get() }
let rootPEM = begun { try DemoServer.root.get().rootPEM }
var engine = CurlConfiguration()
engine.connection.tls.roots = .pem(Array(rootPEM.utf8))
engine.connection.proxy = .none
// One connection for each of the calls that are rejected at the same time.
engine.connectionsPerHost = 256
let stack = begun { [engine] in try CurlNetworkStack(engine) }
let stage = Stage(stack: stack, server: server)

print("An HTTPS server runs at \(server.baseURL), in this process.")
print("The code of each step is in the file below its name; the rest is in Playgrounds/Sources/Demo.")
var failed = 0
for (index, step) in steps.enumerated() {
  print("\n\(index + 1). \(step.title)\n   \(step.source)")
  for line in step.explanation.split(separator: "\n") { print("   \(line)") }
  do {
    try await step.run(stage)
  } catch {
    failed += 1
    print("   ✗ the step failed: \(error)")
  }
  fflush(nil)
}

await stack.shutDown(cancelling: true)
server.stop()
let verdict = failed == 0 ? "All \(steps.count) steps did what they say" : "\(failed) of \(steps.count) steps failed"
print("\n\(verdict), in \(start.duration(to: .now).readable).")
exit(failed == 0 ? 0 : 1)
