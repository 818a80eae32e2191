// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@Suite("Errors of connections")
struct ConnectionErrorTests {
  @Test("A refused connection keeps errno") func errno() {
    var error = TransportError(stage: .connect, code: .connectFailed, message: "refused")
    error.systemCode = ConnectionError.Code.ECONNREFUSED.rawValue
    #expect(ConnectionError(error) == .posix(.ECONNREFUSED))
    #expect(ConnectionError(error).cause?.message == "refused")
    #expect(ConnectionError(error).errorDomain == "NSPOSIXErrorDomain")
  }
}
