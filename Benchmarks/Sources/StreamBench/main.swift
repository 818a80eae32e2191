// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroCurl
import LastroTesting

// Measures the cost of an echo while many streams are open. One stream after the other sends 64 bytes and waits until
// it has received them back.
//
//   stdbuf -oL StreamBench serve      prints a port, and echoes until it is killed
//   StreamBench PORT COUNT ECHOES     opens COUNT streams and prints the time of an echo
//
// `StreamShard.capacity` is the number of streams that share a multi handle of libcurl.

raiseDescriptorLimit()
let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }

if arguments.count == 3 {
  try await measure(port: arguments[0], count: arguments[1], echoes: arguments[2])
} else {
  let server = try LoopbackServer { connection in
    while case let bytes = connection.read(max: 65_536), !bytes.isEmpty { try connection.write(bytes) }
  }
  print(server.port)
  try await Task.sleep(for: .seconds(86_400))
}

/// Raises the number of descriptors that this process may have open to the hard limit.
func raiseDescriptorLimit() {
  var limit = rlimit()
  let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  getrlimit(resource, &limit)
  limit.rlim_cur = limit.rlim_max
  setrlimit(resource, &limit)
}

func measure(port: Int, count: Int, echoes: Int) async throws {
  let dialer = try CurlNetworkStack().dialer
  let dialing = ContinuousClock.now
  let streams = try await withThrowingTaskGroup(of: (any ByteStream).self) { group in
    for _ in 0..<count {
      group.addTask { try await dialer.dial(DialRequest(host: "127.0.0.1", port: port, connectTimeout: nil)) }
    }
    return try await group.reduce(into: []) { $0.append($1) }
  }
  let dialed = ContinuousClock.now
  let message = Data(repeating: 120, count: 64)
  var times: [Duration] = []
  for index in 0..<echoes {
    let stream = streams[index % count]
    let start = ContinuousClock.now
    try await stream.write(message)
    var received = 0
    while received < message.count, let piece = try await stream.read() { received += piece.count }
    times.append(ContinuousClock.now - start)
  }
  times.sort()
  func microseconds(_ time: Duration) -> Double { Double(time.components.attoseconds / 1_000_000_000) / 1_000 }
  print(
    "\(count) streams: median \(microseconds(times[echoes / 2])) µs, p90 \(microseconds(times[echoes * 9 / 10])) µs,",
    "dial \(microseconds((dialed - dialing) / count)) µs each")
  for stream in streams { stream.close() }
}
