// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro

/// The exit status of each stage, which is curl's number if curl has one with that meaning.
enum ExitStatus {
  static let table: [FailureStage: Int32] = [
    .request: 3, .proxy: 5, .resolve: 6, .connect: 7, .http: 22, .decode: 23, .timeout: 28, .tls: 35,
    .redirect: 47, .send: 55, .response: 56, .trust: 60, .limit: 63, .policy: 77, .cancelled: 130,
  ]

  static func of(_ stage: FailureStage) -> ExitCode { ExitCode(table[stage] ?? 1) }

  static let help = """
    EXIT STATUS: 0 for a 2xx answer, else by the stage that failed: 3 request, 5 proxy, 6 resolve, 7 connect, \
    22 http (a status outside 200-299), 23 decode, 28 timeout, 35 tls, 47 redirect, 55 send, 56 response, 60 trust, \
    63 limit, 77 policy, 130 cancelled; 64 for a command line that is not understood, 1 when the output cannot be \
    written.
    """
}
