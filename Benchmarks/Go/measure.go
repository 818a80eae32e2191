// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stamp is wall time, and CPU time of the whole process.
type stamp struct {
	wall         time.Time
	user, system time.Duration
}

func now() stamp {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return stamp{time.Now(), time.Duration(usage.Utime.Nano()), time.Duration(usage.Stime.Nano())}
}

// memoryKiB reads VmRSS or VmHWM.
func memoryKiB(key string) (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == key+":" {
			return strconv.Atoi(fields[1])
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", key)
}

// result is the one line on standard output.
type result struct {
	Client     string `json:"client"`
	Scenario   string `json:"scenario"`
	Requests   int    `json:"requests"`
	Bytes      int64  `json:"bytes"`
	WallNs     int64  `json:"wall_ns"`
	UserUs     int64  `json:"user_us"`
	SystemUs   int64  `json:"system_us"`
	PeakRSSKiB int    `json:"peak_rss_kib"`
	IdleRSSKiB int    `json:"idle_rss_kib"`
}

// measure runs the work between two stamps.
func (r *result) measure(work func() (int64, error)) error {
	begin := now()
	bytes, err := work()
	end := now()
	r.Bytes = bytes
	r.WallNs = end.wall.Sub(begin.wall).Nanoseconds()
	r.UserUs = (end.user - begin.user).Microseconds()
	r.SystemUs = (end.system - begin.system).Microseconds()
	return err
}
