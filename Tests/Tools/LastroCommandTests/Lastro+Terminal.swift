// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport

extension Lastro {
  // TIOCSPTLCK and TIOCGPTN of Linux. Glibc's module has neither these nor `posix_openpt`.
  private static var unlockTerminal: UInt { 0x4004_5431 }
  private static var numberOfTerminal: UInt { 0x8004_5430 }

  /// Runs the program with a pseudo-terminal as its standard output, until it exits. Its standard error is a pipe, and
  /// may have at most 64 KiB.
  static func runOnTerminal(_ arguments: [String], environment: [String: String]) async throws -> Result {
    let answer = OneAnswer<Swift.Result<Result, any Error>>()
    Thread.detachNewThread {
      answer.give(Swift.Result { try runOnTerminalBlocking(arguments, environment) })
    }
    return try await answer.value().get()
  }

  private static func runOnTerminalBlocking(
    _ arguments: [String], _ environment: [String: String]
  ) throws -> Result {
    let near = try checked(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC))
    defer { close(near) }
    var lock: Int32 = 0, number: Int32 = 0
    _ = try checked(ioctl(near, unlockTerminal, &lock))
    _ = try checked(ioctl(near, numberOfTerminal, &number))
    let far = try checked(open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC))
    let terminal = FileHandle(fileDescriptor: far, closeOnDealloc: true)
    // Without this the terminal would write \r\n for \n.
    var settings = termios()
    _ = try checked(tcgetattr(far, &settings))
    settings.c_oflag &= ~tcflag_t(OPOST)
    _ = try checked(tcsetattr(far, TCSANOW, &settings))

    let errors = Pipe()
    let id = try spawn(
      [path] + arguments, environment, input: try FileHandle(forReadingFrom: URL(filePath: "/dev/null")),
      output: terminal, errors: errors.fileHandleForWriting)
    // Reading ends, with EIO, when nobody has the terminal open.
    try terminal.close()
    try errors.fileHandleForWriting.close()
    var output = Data()
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(near, &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      output += bytes.prefix(count)
    }
    let status = try exitStatus(of: id)
    let words = try errors.fileHandleForReading.readToEnd() ?? Data()
    return Result(status: status, output: output, errors: String(decoding: words, as: UTF8.self))
  }

  private static func checked(_ result: Int32) throws -> Int32 {
    guard result >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return result
  }
}
