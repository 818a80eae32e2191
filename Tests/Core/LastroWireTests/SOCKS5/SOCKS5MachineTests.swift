// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("SOCKS 5 client")
struct SOCKS5MachineTests {
  private static let login: (user: [UInt8], password: [UInt8]) = (Array("me".utf8), Array("pw".utf8))

  /// Runs a machine, and returns the sent messages, and whether it completed or why it failed.
  private func run(
    _ machine: SOCKS5Machine, _ answers: [[UInt8]]
  ) -> (sent: [[UInt8]], isDone: Bool, failure: SOCKS5Failure.Kind?) {
    var machine = machine
    var sent: [[UInt8]] = []
    var step = machine.start()
    var rest = answers[...]
    while case .more(_, let bytes) = step {
      if !bytes.isEmpty { sent.append(bytes) }
      guard let answer = rest.popFirst() else { return (sent, false, nil) }
      do throws(SOCKS5Failure) {
        step = try machine.receive(answer)
      } catch {
        return (sent, false, error.kind)
      }
    }
    return (sent, true, nil)
  }

  @Test("A name is sent with its length, and the tunnel starts behind the bound address of any kind")
  func tunnel() throws {
    let machine = try SOCKS5Machine(host: .name("a.test"), port: 443)
    let bound: [[[UInt8]]] = [
      [[5, 0, 0, 1], [127, 0, 0, 1, 0x1F, 0x90]], [[5, 0, 0, 4], [UInt8](repeating: 0, count: 18)],
      [[5, 0, 0, 3], [2], [0x61, 0x62, 0, 1]], [[5, 0, 0, 3], [0], [0, 1]],
    ]
    for answers in bound {
      let result = run(machine, [[5, 0]] + answers)
      #expect(result.isDone && result.failure == nil)
      #expect(result.sent == [[5, 1, 0], [5, 1, 0, 3, 6] + Array("a.test".utf8) + [0x01, 0xBB]])
    }
  }

  @Test("IP addresses are sent as such")
  func addresses() throws {
    let six = Array(UInt8(1)...16)
    for (host, bytes) in [(SOCKS5Address.Host.ipv4([10, 1, 2, 3]), [1, 10, 1, 2, 3]), (.ipv6(six), [4] + six)] {
      let result = run(try SOCKS5Machine(host: host, port: 80), [[5, 0], [5, 0, 0, 1], [0, 0, 0, 0, 0, 0]])
      #expect(result.sent.last == [5, 1, 0] + bytes + [0, 80])
    }
  }

  @Test("User and password are sent if the proxy asks for them, and only then")
  func password() throws {
    let machine = try SOCKS5Machine(host: .name("a"), port: 1, login: Self.login)
    let asked = run(machine, [[5, 2], [1, 0], [5, 0, 0, 1], [0, 0, 0, 0, 0, 0]])
    #expect(asked.isDone)
    #expect(asked.sent == [[5, 2, 0, 2], [1, 2, 0x6D, 0x65, 2, 0x70, 0x77], [5, 1, 0, 3, 1, 0x61, 0, 1]])
    let notAsked = run(machine, [[5, 0], [5, 0, 0, 1], [0, 0, 0, 0, 0, 0]])
    #expect(notAsked.sent == [[5, 2, 0, 2], [5, 1, 0, 3, 1, 0x61, 0, 1]])
  }

  @Test("Every other reply has its own failure")
  func failures() throws {
    let bare = try SOCKS5Machine(host: .name("a"), port: 1)
    let named = try SOCKS5Machine(host: .name("a"), port: 1, login: Self.login)
    let broken = SOCKS5Failure.Kind.violation(isOtherProtocol: false)
    for byte in UInt8.min...UInt8.max {
      let method: SOCKS5Failure.Kind? = byte == 0 ? nil : byte == 0xFF ? .noMethod : broken
      #expect(run(bare, [[5, byte]]).failure == method, "method \(byte)")
      #expect(run(named, [[5, byte]]).failure == (byte == 2 ? nil : method), "method \(byte)")
      #expect(run(bare, [[byte, 0]]).failure == (byte == 5 ? nil : .violation(isOtherProtocol: true)))
      #expect(run(named, [[5, 2], [1, byte]]).failure == (byte == 0 ? nil : .loginRefused(byte)))
      #expect(run(named, [[5, 2], [byte, 0]]).failure == (byte == 1 ? nil : broken))
      #expect(run(bare, [[5, 0], [5, byte, 0, 1]]).failure == (byte == 0 ? nil : .refused(byte)))
      #expect(run(bare, [[5, 0], [byte, 0, 0, 1]]).failure == (byte == 5 ? nil : broken))
      #expect(run(bare, [[5, 0], [5, 0, 0, byte]]).failure == ([1, 3, 4].contains(byte) ? nil : broken))
    }
  }

  @Test("Missing or excess bytes are a protocol violation at every step")
  func counts() throws {
    let machine = try SOCKS5Machine(host: .name("a"), port: 1, login: Self.login)
    let answers: [[UInt8]] = [[5, 2], [1, 0], [5, 0, 0, 3], [2], [0x61, 0x62, 0, 1]]
    for index in answers.indices {
      for wrong in [Array(answers[index].dropLast()), answers[index] + [0]] {
        let result = run(machine, Array(answers[..<index]) + [wrong])
        #expect(result.failure == .violation(isOtherProtocol: false), "step \(index)")
      }
    }
  }

  @Test("Requests that the protocol cannot represent are refused before anything is sent")
  func limits() {
    func kind(_ host: SOCKS5Address.Host, _ user: Int = 1, _ password: Int = 1) -> SOCKS5Failure.Kind? {
      do throws(SOCKS5Failure) {
        let letters = { [UInt8](repeating: 0x61, count: $0) }
        _ = try SOCKS5Machine(host: host, port: 1, login: (letters(user), letters(password)))
        return nil
      } catch {
        return error.kind
      }
    }
    let name = { SOCKS5Address.Host.name(String(repeating: "a", count: $0)) }
    #expect(kind(name(1)) == nil && kind(name(255)) == nil)
    #expect(kind(name(0)) == .target && kind(name(256)) == .target)
    #expect(kind(.ipv4([1, 2, 3])) == .target && kind(.ipv6([1, 2, 3, 4])) == .target)
    #expect(kind(name(1), 255, 255) == nil)
    #expect(kind(name(1), 0, 1) == .login && kind(name(1), 1, 0) == .login)
    #expect(kind(name(1), 256, 1) == .login && kind(name(1), 1, 256) == .login)
  }
}
