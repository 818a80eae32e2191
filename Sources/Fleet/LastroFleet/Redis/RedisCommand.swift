// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives

/// Commands in the form in which they are sent.
enum RedisCommand {
  /// Returns the bytes of a command: an array of bulk strings.
  static func encoded(_ arguments: [[UInt8]]) -> [UInt8] {
    var bytes = Array("*\(arguments.count)\r\n".utf8)
    for argument in arguments {
      bytes += Array("$\(argument.count)\r\n".utf8)
      bytes += argument
      bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    }
    return bytes
  }
}

/// A script that the server runs in one step.
///
/// The first line makes a server that is a read-only replica refuse the script, even if it would only read.
struct RedisScript: Sendable {
  private let text: [UInt8]
  /// The name by which the server knows the script: its SHA-1 hash. `nil` if OpenSSL has no SHA-1.
  private let hash: [UInt8]?

  init(_ text: String) {
    let text = Array(text.utf8)
    self.text = text
    var digest = [UInt8](repeating: 0, count: 20)
    let works = clastro_digest_of("SHA1", text, text.count, &digest, digest.count)
    hash = works ? digest.flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] } : nil
  }

  private static let digits = Array("0123456789abcdef".utf8)

  /// Returns the command that runs the script by its hash; `nil` if there is none.
  func byHash(_ key: [UInt8], _ arguments: [[UInt8]]) -> [[UInt8]]? {
    hash.map { [Array("EVALSHA".utf8), $0, Array("1".utf8), key] + arguments }
  }

  /// Returns the command that sends and runs the script.
  func whole(_ key: [UInt8], _ arguments: [[UInt8]]) -> [[UInt8]] {
    [Array("EVAL".utf8), text, Array("1".utf8), key] + arguments
  }

  /// Returns the value of a key, and the server's time.
  static let read = RedisScript(
    """
    #!lua flags=allow-oom
    local time = redis.call('TIME')
    return {redis.call('GET', KEYS[1]), time[1], time[2]}
    """)

  /// Sets a key to ARGV[3], for ARGV[4] ms, if its value is ARGV[2], or if it has none and ARGV[1] is 0. Returns its
  /// value afterwards, and the server's time.
  static let compareAndSet = RedisScript(
    """
    #!lua
    local time = redis.call('TIME')
    local value = redis.call('GET', KEYS[1])
    local expected = not value
    if ARGV[1] == '1' then expected = value == ARGV[2] end
    if expected or value == ARGV[3] then
      redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4])
      value = ARGV[3]
    end
    return {value, time[1], time[2]}
    """)
}
