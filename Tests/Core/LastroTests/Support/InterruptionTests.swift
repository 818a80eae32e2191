// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroSupport
import Testing

@Suite("Interrupted system calls")
struct InterruptionTests {
  @Test("An interrupted call is made again until it ends in another way")
  func again() {
    var made = 0
    let code = uninterrupted { () -> Int32 in
      made += 1
      errno = EINTR
      return made < 3 ? -1 : 7
    }
    #expect(code == 7 && made == 3)
    let count = uninterrupted { () -> Int in
      made += 1
      errno = made < 6 ? EINTR : EIO
      return -1
    }
    #expect(count == -1 && made == 6)
  }

  @Test("Another failure is returned at once")
  func failure() {
    var made = 0
    let code = uninterrupted { () -> Int32 in
      made += 1
      errno = EAGAIN
      return -1
    }
    #expect(code == -1 && made == 1)
  }
}
