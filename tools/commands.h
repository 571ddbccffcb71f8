/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands, one file each. */
#ifndef RDMABLK_TOOLS_COMMANDS_H
#define RDMABLK_TOOLS_COMMANDS_H

#include "opts.h"

extern const struct option_info connect_options[];
extern const struct option_info disconnect_options[];
extern const struct option_info up_options[];
extern const struct option_info down_options[];
extern const struct option_info config_options[];
extern const struct option_info shutdown_options[];
extern const struct option_info set_options[];
extern const struct option_info reconnect_options[];
extern const struct option_info list_options[];
extern const struct option_info status_options[];
extern const struct option_info stats_options[];
extern const struct option_info top_options[];
extern const struct option_info metrics_options[];
extern const struct option_info monitor_options[];
extern const struct option_info target_options[];
extern const struct option_info key_options[];
extern const struct option_info devices_options[];
extern const struct option_info ping_options[];
extern const struct option_info discover_options[];
extern const struct option_info doctor_options[];

int cmd_connect(const struct command_info *command, int argc, char **argv);
int cmd_disconnect(const struct command_info *command, int argc, char **argv);
int cmd_up(const struct command_info *command, int argc, char **argv);
int cmd_down(const struct command_info *command, int argc, char **argv);
int cmd_config(const struct command_info *command, int argc, char **argv);
int cmd_shutdown(const struct command_info *command, int argc, char **argv);
int cmd_set(const struct command_info *command, int argc, char **argv);
int cmd_reconnect(const struct command_info *command, int argc, char **argv);
int cmd_list(const struct command_info *command, int argc, char **argv);
int cmd_status(const struct command_info *command, int argc, char **argv);
int cmd_status_overview(void);
int cmd_stats(const struct command_info *command, int argc, char **argv);
int cmd_top(const struct command_info *command, int argc, char **argv);
int cmd_metrics(const struct command_info *command, int argc, char **argv);
int cmd_monitor(const struct command_info *command, int argc, char **argv);
int cmd_target(const struct command_info *command, int argc, char **argv);
int cmd_key(const struct command_info *command, int argc, char **argv);
int cmd_discover(const struct command_info *command, int argc, char **argv);
int cmd_ping(const struct command_info *command, int argc, char **argv);
int cmd_devices(const struct command_info *command, int argc, char **argv);
int cmd_doctor(const struct command_info *command, int argc, char **argv);

#endif /* RDMABLK_TOOLS_COMMANDS_H */
