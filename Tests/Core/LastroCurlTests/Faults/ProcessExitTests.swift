// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// A process may end while loops still run. OpenSSL must stay usable until the last moment.
@Suite("Process exit", .timeLimit(.minutes(15)))
struct ProcessExitTests {
  @Test("OpenSSL still works in atexit handlers that run after OpenSSL's own would have run", .ownThread)
  func openSSLStays() async {
    await #expect(processExitsWith: .exitCode(7)) {
      // Handlers run in the reverse order of their registration. OpenSSL registers its handler at first use.
      atexit {
        let hasher = try? MessageHasher()
        hasher?.update(Array("abc".utf8))
        _exit((try? hasher?.digest()) == nil ? 8 : 7)
      }
      let engine = try CurlTransport()
      _ = await engine.outcome(try faultServer(Fault("", "", .answered(0, ""))))
      exit(0)
    }
  }
}
